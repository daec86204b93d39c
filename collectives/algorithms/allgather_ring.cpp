// Ring allgather: every part travels once around the ring. Each part is `channels` blocks, and
// every other one of them travels in the opposite direction.
//
//   step k:  rank r sends part r-k to r+1 and receives part r-k-1 from r-1 (odd channels: part r+k
//            to r-1, part r+k+1 from r+1)
//
//   cost: (P-1)(alpha + m beta), m bytes in each rank's part
//   Wins for long parts: only neighbours talk and every port is busy in every step.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const std::uint32_t channels = std::max(params.channels, 1U);
  ScheduleBuilder program(Collective::allgather, shape, channels);
  const auto block = [&](Rank part, std::uint32_t channel) {
    return static_cast<std::uint32_t>(around(part, size)) * channels + channel;
  };
  for (Rank k = 0; k < size - 1; ++k) {
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const Rank ahead = channel % 2 == 0 ? 1 : -1;
      const std::uint32_t outgoing = block(rank - ahead * k, channel);
      program.send(around(rank + ahead, size), k == 0 ? in(outgoing) : out(outgoing));
      program.recv(around(rank - ahead, size), out(block(rank - ahead * (k + 1), channel)));
    }
  }
  program.copy(in(block(rank, 0), channels), out(block(rank, 0), channels));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_ring{
    .collective = Collective::allgather,
    .name = "ring",
    .generate = generate,
    .tunables = "channels",
    .summary =
        "parts travel around a ring, (P-1)(alpha + m beta) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
