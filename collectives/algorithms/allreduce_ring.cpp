// Ring allreduce: a reduce-scatter and an allgather, each of P-1 steps around a ring. The vector is
// P chunks of `segments` blocks.
//
//   step k, first half:  rank r sends the partial sum of chunk r-k to r+1, receives chunk r-k-1
//                        from r-1 and adds its own
//   step k, second half: rank r sends the finished chunk r+1-k to r+1, receives chunk r-k
//
//   cost: 2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma
//   Wins for long vectors at any P. Each chunk is summed once, along one path, then copied: all
//   ranks hold identical bits. Segments let the sum of one overlap the transfer of the next.
//   Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const std::uint32_t segments = params.segments;
  const std::uint32_t blocks = static_cast<std::uint32_t>(size) * segments;
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  if (size == 1) {
    program.copy(in(0, blocks), out(0, blocks));
    return std::move(program).finish();
  }
  const Rank next = around(rank + 1, size), previous = around(rank - 1, size);
  const auto block = [&](Rank chunk, std::uint32_t segment) {
    return static_cast<std::uint32_t>(around(chunk, size)) * segments + segment;
  };
  for (Rank k = 0; k < size - 1; ++k) {
    for (std::uint32_t s = 0; s < segments; ++s) {
      const std::uint32_t outgoing = block(rank - k, s), incoming = block(rank - k - 1, s);
      const Slice landing = tmp(static_cast<std::uint32_t>(k % 2) * segments + s, incoming);
      program.send(next, k == 0 ? in(outgoing) : out(outgoing));
      program.recv(previous, landing);
      program.reduce(in(incoming), landing, out(incoming));
    }
  }
  for (Rank k = 0; k < size - 1; ++k) {
    for (std::uint32_t s = 0; s < segments; ++s) {
      program.send(next, out(block(rank + 1 - k, s)));
      program.recv(previous, out(block(rank - k, s)));
    }
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_ring{
    .collective = Collective::allreduce,
    .name = "ring",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "ring reduce-scatter and allgather, 2(P-1) alpha + 2(P-1)/P n beta "
        "(Patarasuk & Yuan 2009)",
    .cost = "2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
