// Ring allreduce: a reduce-scatter and an allgather, each of P-1 steps around a ring. The vector is
// cut in `channels` parts, each with a ring of its own, of P chunks of `segments` blocks.
//
//   rings:  channel c visits every t-th rank, t the (c/2)-th number that has no factor in common
//           with P; forward for even c, backward for odd c. Two channels use both directions of
//           every link; next and previous are those of the channel
//   step k, first half:  every rank sends the partial sum of the chunk of the k-th rank before it
//                        to the next one, receives that of the (k+1)-th and adds its own
//   step k, second half: the finished chunks go round in the same way, one step ahead
//
//   cost: 2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma
//   Wins for long vectors at any P. Each chunk is summed once, along one path, then copied: all
//   ranks hold identical bits. Segments let the sum of one overlap the transfer of the next.
//   Patarasuk & Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
#include <numeric>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// A ring through one segment of each chunk of one channel.
struct Lane {
  Rank size, rank, stride;
  std::uint32_t segments, first;  ///< first: the lane's block of chunk 0
  Rank next() const { return around(rank + stride, size); }
  Rank previous() const { return around(rank - stride, size); }
  /// The block of the chunk of the rank that is `steps` before this one.
  std::uint32_t block(Rank steps) const {
    const std::int64_t back = std::int64_t{steps} * stride % size;
    const Rank chunk = around(rank - static_cast<Rank>(back), size);
    return first + static_cast<std::uint32_t>(chunk) * segments;
  }
};

/// Segment by segment, so that all channels are busy from the start.
std::vector<Lane> lanes(const Shape& shape, const Params& params) {
  const Rank size = shape.size;
  std::vector<Lane> all;
  for (std::uint32_t segment = 0; segment < params.segments; ++segment) {
    Rank stride = 1;
    for (std::uint32_t channel = 0; channel < params.channels; ++channel) {
      const std::uint32_t chunks = channel * static_cast<std::uint32_t>(size) * params.segments;
      const bool backward = channel % 2 != 0;
      all.push_back(
          {size, shape.rank, backward ? size - stride : stride, params.segments, chunks + segment});
      if (!backward) continue;
      do {
        stride = stride % size + 1;
      } while (2 * stride > size || std::gcd(stride, size) != 1);
    }
  }
  return all;
}

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size;
  const std::uint32_t blocks = static_cast<std::uint32_t>(size) * params.segments * params.channels;
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  if (size == 1) {
    program.copy(in(0, blocks), out(0, blocks));
    return std::move(program).finish();
  }
  const std::vector<Lane> rings = lanes(shape, params);
  std::uint32_t slot = 0;  // two sets of slots, so that a recv can be posted during the reduce
  for (Rank k = 0; k < size - 1; ++k) {
    for (const Lane& ring : rings) {
      const std::uint32_t outgoing = ring.block(k), incoming = ring.block(k + 1);
      const Slice landing = tmp(slot, incoming);
      program.send(ring.next(), k == 0 ? in(outgoing) : out(outgoing));
      program.recv(ring.previous(), landing);
      program.reduce(in(incoming), landing, out(incoming));
      slot = (slot + 1) % (2 * static_cast<std::uint32_t>(rings.size()));
    }
  }
  for (Rank k = 0; k < size - 1; ++k) {
    for (const Lane& ring : rings) {
      program.send(ring.next(), out(ring.block(k - 1)));
      program.recv(ring.previous(), out(ring.block(k)));
    }
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_ring{
    .collective = Collective::allreduce,
    .name = "ring",
    .generate = generate,
    .tunables = "segments,channels",
    .summary =
        "ring reduce-scatter and allgather, 2(P-1) alpha + 2(P-1)/P n beta "
        "(Patarasuk & Yuan 2009)",
    .cost = "2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
