#include <algorithm>
#include <array>

#include "microbench/countdown.hpp"
#include "microbench/point_to_point.hpp"

namespace commtune {
namespace {

constexpr std::uint64_t window = 64;
constexpr Lane lane = 1;  // lane 0 belongs to the blocking calls of the acknowledgement

/// Rank 0 sends a window of messages; rank 1 acknowledges with 4 bytes once all have arrived, so
/// that the sender's clock covers the arrival, not the local completion.
void send_windows(Job& job, Rotation& memory, std::uint64_t repeats) {
  Countdown transfers;
  std::array<std::byte, 4> acknowledgement{};
  for (std::uint64_t i = 0; i < repeats; ++i) {
    transfers.expect(window);
    for (std::uint64_t k = 0; k < window; ++k) {
      const auto message = memory.at(i * window + k);
      if (job.rank() == 0) {
        job.transport.post_send(1, lane, message, transfers.one());
      } else {
        job.transport.post_recv(0, lane, message, transfers.one());
      }
    }
    transfers.wait(job.transport);
    if (job.rank() == 0) {
      job.transport.recv(1, acknowledgement);
    } else {
      job.transport.send(0, acknowledgement);
    }
  }
}

PatternResult checked_window(Job& job, Rotation& memory, std::uint64_t seed) {
  const std::uint64_t distinct = std::min<std::uint64_t>(memory.count(), window);
  for (std::uint64_t k = 0; k < distinct; ++k) {
    fill_pattern(memory.at(k), job.rank() == 0 ? seed : ~seed, k);
  }
  send_windows(job, memory, 1);
  PatternResult result;
  if (job.rank() == 0) return result;
  for (std::uint64_t k = 0; k < distinct; ++k) {
    const PatternResult message = check_pattern(memory.at(k), seed, k);
    const std::uint64_t wrong = result.wrong + message.wrong;
    if (result.wrong == 0) result = message;
    result.wrong = wrong;
  }
  return result;
}

void run_bandwidth(BenchContext& context) {
  run_point_to_point(context, [](std::uint64_t bytes) {
    constexpr std::uint64_t check_memory = 64 << 20;
    return PointToPoint{.messages = window,
                        .divisor = 1,
                        .check_area = std::min<std::size_t>(window * (bytes + 64), check_memory),
                        .transfer = send_windows,
                        .checked = checked_window};
  });
}

}  // namespace

extern const Benchmark benchmark_bandwidth{
    .name = "bandwidth",
    .summary =
        "rank 0 sends windows of 64 messages to rank 1, which acknowledges each window with "
        "4 bytes; time and bytes_total are those of a window",
    .kind = BenchmarkKind::point_to_point,
    .default_sizes = "1:4M:x4",
    .collective = {},
    .run = run_bandwidth};

}  // namespace commtune
