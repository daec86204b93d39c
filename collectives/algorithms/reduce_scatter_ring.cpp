// Ring reduce-scatter: the partial sum of each part travels around the ring and ends at its owner.
// Each part is `channels` blocks, and every other one of them travels in the opposite direction.
//
//   step k:  rank r sends its partial sum of part r-k-1 to r+1, receives that of part r-k-2 from
//            r-1 and adds its own; after P-1 steps that part is r (odd channels: part r+k+1 to r-1,
//            part r+k+2 from r+1)
//
//   cost: (P-1)(alpha + m beta + m gamma), m bytes in each rank's part
//   Wins for long vectors at any P. Partial sums live in two scratch slots a channel, so an input
//   shared with the output is intact until its last read.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const std::uint32_t channels = std::max(params.channels, 1U);
  ScheduleBuilder program(Collective::reduce_scatter, shape, channels);
  if (size == 1) program.copy(in(0, channels), out(0, channels));
  const auto block = [&](Rank part, std::uint32_t channel) {
    return static_cast<std::uint32_t>(around(part, size)) * channels + channel;
  };
  const auto landing = [&](Rank k, std::uint32_t channel, std::uint32_t incoming) {
    return tmp(2 * channel + static_cast<std::uint32_t>(k % 2), incoming);
  };
  for (Rank k = 0; k < size - 1; ++k) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const Rank ahead = channel % 2 == 0 ? 1 : -1;
      const std::uint32_t outgoing = block(rank - ahead * (k + 1), channel);
      const std::uint32_t incoming = block(rank - ahead * (k + 2), channel);
      const Slice arrived = landing(k, channel, incoming);
      program.send(around(rank + ahead, size),
                   k == 0 ? in(outgoing) : landing(k - 1, channel, outgoing));
      program.recv(around(rank - ahead, size), arrived);
      program.reduce(in(incoming), arrived, k == size - 2 ? out(incoming) : arrived);
    }
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_ring{
    .collective = Collective::reduce_scatter,
    .name = "ring",
    .generate = generate,
    .tunables = "channels",
    .summary =
        "partial sums travel around a ring, (P-1)(alpha + m beta + m gamma) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta + m gamma)"};

}  // namespace commtune
