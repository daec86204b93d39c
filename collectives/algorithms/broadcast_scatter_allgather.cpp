// Scatter-allgather broadcast: a binomial tree scatters the vector in P blocks, a ring collects
// them.
//
//   Ranks are numbered v = r - root. Scatter: v receives blocks [v, v + 2^j), 2^j its lowest set
//   bit, from v - 2^j and passes the upper halves on. Ring step k: v sends block v-k to v+1 and
//   receives block v-k-1, except blocks that the scatter has left at the receiver already.
//
//   cost: (ceil(log2 P) + P - 1) alpha + 2(P-1)/P n beta
//   Wins for long vectors.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005; the omission of
//   blocks that are there: Zhou et al., ICPP Workshops 2015.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size;
  const Rank node = around(shape.rank - shape.root, size);
  const auto rank = [&](Rank of) { return around(of + shape.root, size); };
  const auto held = [&](Rank of) {  // blocks [of, of + held) after the scatter
    return of == 0 ? size : std::min(of & -of, size - of);
  };
  const auto run = [](BufferId buffer, Rank first, Rank count) {
    return Slice{buffer, 0, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
  };
  ScheduleBuilder program(Collective::broadcast, shape, static_cast<std::uint32_t>(size));
  const BufferId source = node == 0 ? BufferId::input : BufferId::output;

  Rank span = 1;
  while (span < size && (node & span) == 0) span *= 2;
  if (node != 0) program.recv(rank(node - span), run(BufferId::output, node, held(node)));
  for (Rank half = span / 2; half > 0; half /= 2) {
    const Rank child = node + half;
    if (child < size) program.send(rank(child), run(source, child, held(child)));
  }
  const Rank next = around(node + 1, size), previous = around(node - 1, size);
  const auto lacks = [&](Rank of, Rank block) { return block < of || block >= of + held(of); };
  for (Rank k = 0; k < size - 1; ++k) {
    const Rank outgoing = around(node - k, size), incoming = around(node - k - 1, size);
    if (lacks(next, outgoing)) program.send(rank(next), run(source, outgoing, 1));
    if (lacks(node, incoming)) program.recv(rank(previous), run(BufferId::output, incoming, 1));
  }
  if (node == 0) program.copy(run(BufferId::input, 0, size), run(BufferId::output, 0, size));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_scatter_allgather{
    .collective = Collective::broadcast,
    .name = "scatter_allgather",
    .generate = generate,
    .tunables = "",
    .summary =
        "binomial scatter and ring allgather, (log2 P + P-1) alpha + 2(P-1)/P n beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(L + P-1) alpha + 2(P-1)/P n beta"};

}  // namespace commtune
