// Neighbor exchange allgather: pairs of neighbours exchange two parts at a time, with the left and
// the right neighbour in turn.
//
//   step 0:           ranks 2i and 2i+1 exchange their parts
//   step k (1..P/2-1): each rank exchanges the two parts that it got last (in step 1: those of its
//                     pair) with its other neighbour
//
//   cost: P/2 alpha + (P-1) m beta, m bytes in each rank's part
//   Wins for medium parts: half the steps of the ring, still only neighbours talk.
//   Chen, Zhang, Zhang & Yuan, HPC Asia 2005.
#include <string>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

std::string refuse(const Shape& shape, const Params&) {
  if (shape.size % 2 == 0 || shape.size == 1) return {};
  return std::to_string(shape.size) + " ranks do not form pairs";
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  if (size == 1) return std::move(program).finish();
  program.send(rank ^ 1, in(mine));
  program.recv(rank ^ 1, out(mine ^ 1));
  const Rank toward = rank % 2 == 0 ? 1 : -1;  // the neighbour in the same pair
  const auto pair = [&](Rank ahead) {
    return out(2 * static_cast<std::uint32_t>(around(rank / 2 + ahead, size / 2)), 2);
  };
  Slice last = pair(0);
  for (Rank k = 1; k < size / 2; ++k) {
    const bool odd = k % 2 == 1;
    const Rank peer = around(odd ? rank - toward : rank + toward, size);
    const Rank pairs_ahead = (k + 1) / 2 * (odd ? -toward : toward);
    program.send(peer, last);
    last = pair(pairs_ahead);
    program.recv(peer, last);
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_neighbor_exchange{
    .collective = Collective::allgather,
    .name = "neighbor_exchange",
    .generate = generate,
    .tunables = "",
    .summary =
        "two parts at a time to the left and right neighbour in turn, P/2 alpha + (P-1) m beta "
        "(Chen et al. 2005)",
    .cost = "P/2 alpha + (P-1) m beta",
    .needs = "an even number of ranks",
    .refuse = refuse};

}  // namespace commtune
