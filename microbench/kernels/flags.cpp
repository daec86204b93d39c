// flags/one_line, flags/two_lines: two threads answer each other through a counter, kept in one
// cache line or in a line for each direction. `one_way` is half the round trip: what the smallest
// message between two cores cannot beat. With one processor it is the time of the scheduler.
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <thread>

#include "core/backoff.hpp"

namespace commtune {
namespace {

/// Two cache lines, as processors may fetch them in pairs.
struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};

  void wait_for(std::uint64_t wanted) const noexcept {
    for (Backoff backoff(false); value.load(std::memory_order_acquire) != wanted;) backoff.pause();
  }
};

constexpr std::uint64_t last = ~std::uint64_t{0};

/// Answers every odd value n of `ping` with n + 1 in `pong` until it is `last`.
void answer(const Flag& ping, Flag& pong) {
  std::uint64_t asked = 1;
  for (Backoff backoff(false);;) {
    const std::uint64_t value = ping.value.load(std::memory_order_acquire);
    if (value == last) return;
    if (value != asked) {
      backoff.pause();
      continue;
    }
    pong.value.store(asked + 1, std::memory_order_release);
    asked += 2;
    backoff.reset();
  }
}

void ping_pong(benchmark::State& state, bool one_line) {
  Flag first, second;
  Flag& ping = first;
  Flag& pong = one_line ? first : second;
  std::thread partner([&] { answer(ping, pong); });
  std::uint64_t asked = 1;
  for ([[maybe_unused]] auto iteration : state) {
    ping.value.store(asked, std::memory_order_release);
    pong.wait_for(asked + 1);
    asked += 2;
  }
  ping.value.store(last, std::memory_order_release);
  partner.join();
  state.counters["one_way"] = benchmark::Counter(
      2, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(ping_pong, one_line, true)->Name("flags/one_line")->UseRealTime();
BENCHMARK_CAPTURE(ping_pong, two_lines, false)->Name("flags/two_lines")->UseRealTime();

}  // namespace
}  // namespace commtune
