#include "microbench/point_to_point.hpp"

namespace commtune {
namespace {

/// There and back between ranks 0 and 1, `repeats` times.
void ping_pong(Job& job, Rotation& memory, std::uint64_t repeats) {
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const auto message = memory.at(i);
    if (job.rank() == 0) {
      job.transport.send(1, message);
      job.transport.recv(1, message);
    } else {
      job.transport.recv(0, message);
      job.transport.send(0, message);
    }
  }
}

/// Rank 1 returns what it received from an area it cleared before; rank 0 compares the echo.
PatternResult checked_ping_pong(Job& job, Rotation& memory, std::uint64_t seed) {
  const auto message = memory.at(0);
  if (job.rank() == 1) {
    fill_pattern(message, ~seed, 1);
    job.transport.recv(0, message);
    job.transport.send(0, message);
    return {};
  }
  fill_pattern(message, seed, 0);
  job.transport.send(1, message);
  fill_pattern(message, ~seed, 2);
  job.transport.recv(1, message);
  return check_pattern(message, seed, 0);
}

void run_latency(BenchContext& context) {
  run_point_to_point(context, [](std::uint64_t) {
    return PointToPoint{.messages = 1,
                        .divisor = 2,
                        .check_area = 0,
                        .transfer = ping_pong,
                        .checked = checked_ping_pong};
  });
}

}  // namespace

extern const Benchmark benchmark_latency{
    .name = "latency",
    .summary = "ping-pong between ranks 0 and 1 with blocking calls; half the round trip",
    .kind = BenchmarkKind::point_to_point,
    .default_sizes = "1:4M:x4",
    .collective = {},
    .run = run_latency};

}  // namespace commtune
