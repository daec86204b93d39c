// Sparbit allgather: distances halve while the number of parts in a message doubles, so most data
// moves between near ranks; parts land at their own place.
//
//   step with distance d = 2^(L-1), ..., 2, 1:  rank r sends the parts r-j*2d that it holds to r+d
//                                               and receives parts r-d-j*2d from r-d, for all j
//                                               whose part the other does not have
//
//   cost: ceil(log2 P) alpha + (P-1) m beta at any P, m bytes in each rank's part
//   Wins for short and medium parts where near ranks are faster to reach than far ones.
//   Loch & Koslovski, arXiv 2109.08751, 2021.
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(part(rank)), out(part(rank)));
  const auto all = static_cast<std::uint32_t>(2 * size);
  for (const TreeMessage& message : tree_messages(size, all, TreeOrder::breadth_first)) {
    program.send(around(rank + message.distance, size), tree_parts(message, rank, size));
    program.recv(around(rank - message.distance, size),
                 tree_parts(message, rank - message.distance, size));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_sparbit{
    .collective = Collective::allgather,
    .name = "sparbit",
    .generate = generate,
    .tunables = "",
    .summary =
        "distances halve as messages double, L alpha + (P-1) m beta at any P "
        "(Loch & Koslovski 2021)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
