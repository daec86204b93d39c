// Swing reduce-scatter: recursive halving in which partners alternate sides around the ring, at
// distances 1, 1, 3, 5, 11, ... instead of powers of two.
//
//   fold:    the even rank of each extra pair sends its vector to the odd one, which adds it
//   step s = 0, ..., L-1:  node v sends v + rho(s) (v even) or v - rho(s) (v odd), rho = 1, -1, 3,
//            -5, 11, ..., the parts of all nodes that this one reaches in later steps, receives
//            those that it reaches itself and adds them; most data goes to near nodes
//   unfold:  the odd rank of each pair sends the even one its part
//
//   cost: log2 P alpha + (P-1)/P n (beta + gamma) for P = 2^i; otherwise 2 alpha + n (beta + gamma)
//         + m beta more; n bytes in the whole vector, m in each rank's part
//   Wins on rings and tori, where the sum of distances is what messages compete for.
//   De Sensi, Bonato, Saam & Hoefler, NSDI 2024.
#include "collectives/algorithms/partial_sums.hpp"
#include "collectives/algorithms/parts.hpp"
#include "collectives/algorithms/swing.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (shape.size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0, static_cast<std::uint32_t>(shape.size)));
    program.recv(rank + 1, out(mine));
    return std::move(program).finish();
  }
  PartialSums sums(program, shape);
  if (fold.paired(rank)) sums.absorb(rank - 1);
  const auto parts = [&](const std::vector<Rank>& nodes) {
    std::vector<std::uint32_t> numbers;
    for (const Rank node : nodes) {
      for (std::uint32_t part = first_part(fold, node); part < first_part(fold, node + 1); ++part) {
        numbers.push_back(part);
      }
    }
    return numbers;
  };
  const Swing swing(fold.cube);
  const Rank node = fold.node(rank);
  for (std::size_t step = 0; step < swing.steps(); ++step) {
    const Rank other = swing.peer(node, step), peer = fold.rank(other);
    sums.exchange(peer, parts(swing.reached(other, step + 1)), peer,
                  parts(swing.reached(node, step + 1)));
  }
  if (fold.paired(rank)) program.send(rank - 1, sums.at(mine - 1));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_swing{
    .collective = Collective::reduce_scatter,
    .name = "swing",
    .generate = generate,
    .tunables = "",
    .summary =
        "recursive halving with partners on alternating sides of a ring, "
        "L alpha + (P-1)/P n (beta + gamma) (De Sensi et al. 2024)",
    .cost = "L alpha + (P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
