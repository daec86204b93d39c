// Circulant-graph allreduce: a reduce-scatter and an allgather of ceil(log2 P) rounds each at any
// P. The vector is P blocks, block r is summed at rank r. The distances are ceil(P/2), ceil(P/4),
// ..., 1, each half of the one before, rounded up.
//
//   reduce round, from distance w to d = ceil(w/2):  rank r holds partial sums of the blocks r,
//   ...,
//            r+w-1, all modulo P; it sends those from r+d on to r+d, which are the first w-d that
//            rank adds to, and receives as many from r-d
//   gather round, the same in reverse:  rank r sends its first w-d finished blocks to r-d and
//            receives as many from r+d
//
//   cost: 2 ceil(log2 P) alpha + 2(P-1)/P n beta + (P-1)/P n gamma
//   Wins for middle-sized vectors where P is not a power of two: nobody folds, nobody idles. Every
//   block is summed at one rank and then copied: identical bits everywhere. The order of ranks is
//   not kept.
//   Traff, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, arXiv:2410.14234, 2024.
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::allreduce, shape, static_cast<std::uint32_t>(size));
  if (size == 1) program.copy(in(0), out(0));
  const std::vector<Rank> widths = halvings(size);
  BufferId partial = BufferId::input;
  std::uint16_t slot = 0;
  for (std::size_t round = 1; round < widths.size(); ++round) {
    const Rank distance = widths[round], moved = widths[round - 1] - distance;
    std::vector<Slice> landing = ring_runs(BufferId::scratch, rank, moved, size);
    for (Slice& run : landing) run.slot = slot++;
    program.send(around(rank + distance, size), ring_runs(partial, rank + distance, moved, size));
    program.recv(around(rank - distance, size), landing);
    for (const Slice arrived : landing) {
      program.reduce({partial, 0, arrived.first, arrived.count}, arrived,
                     out(arrived.first, arrived.count));
    }
    if (partial == BufferId::input && moved < distance) {
      const auto untouched = static_cast<std::uint32_t>(around(rank + moved, size));
      program.copy(in(untouched), out(untouched));
    }
    partial = BufferId::output;
  }
  for (std::size_t round = widths.size(); --round > 0;) {
    const Rank distance = widths[round], moved = widths[round - 1] - distance;
    program.send(around(rank - distance, size), ring_runs(BufferId::output, rank, moved, size));
    program.recv(around(rank + distance, size),
                 ring_runs(BufferId::output, rank + distance, moved, size));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_circulant{
    .collective = Collective::allreduce,
    .name = "circulant",
    .generate = generate,
    .tunables = "",
    .summary =
        "reduce-scatter and allgather on a circulant graph, 2L alpha + 2(P-1)/P n beta at any P "
        "(Traff 2024)",
    .cost = "2L alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
