#include "harness/machine_probe.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/clock.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

constexpr int trips_per_block = 64;
constexpr std::size_t fewest_blocks = 3;
constexpr std::int64_t start_limit_ns = 2'000'000, run_limit_ns = 1'000'000;
constexpr int polls_between_clock_reads = 512;

/// Binds the calling thread; works outside the process's mask too, inside its cpuset.
bool pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// The caller's processors; every configured one when it is bound to a single core.
std::vector<int> candidate_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  const int configured =
      std::min(static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), int{CPU_SETSIZE});
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < configured; ++cpu) {
      if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) processors.push_back(cpu);
    }
  }
  if (processors.size() == 1) {
    for (int cpu = 0; cpu < configured; ++cpu) {
      if (cpu != processors.front()) processors.push_back(cpu);
    }
  }
  return processors;
}

/// Two threads hand a counter back and forth, each on its own processor.
class PingPong {
 public:
  std::optional<double> run(const std::vector<int>& processors) {
    std::thread responder([&] { respond(processors); });
    try {
      std::thread([&] { initiate(processors.front()); }).join();
    } catch (const std::system_error&) {
      ping_.value.store(stop, std::memory_order_release);
    }
    responder.join();
    if (count_ < fewest_blocks) return std::nullopt;
    const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(count_);
    return median_of({blocks_.begin(), end});
  }

 private:
  static constexpr int stop = -1, refused = -2;
  struct alignas(128) Line {
    std::atomic<int> value{0};
  };

  void respond(const std::vector<int>& processors) {
    const bool pinned = std::any_of(processors.begin() + 1, processors.end(), pin);
    pong_.value.store(pinned ? 1 : refused, std::memory_order_release);
    int expected = 2;
    while (pinned) {
      const int seen = ping_.value.load(std::memory_order_acquire);
      if (seen == stop) return;
      if (seen != expected) continue;
      pong_.value.store(expected++, std::memory_order_release);
    }
  }
  void initiate(int processor) {
    if (pin(processor) && await(1, monotonic_ns() + start_limit_ns)) exchange();
    ping_.value.store(stop, std::memory_order_release);
  }
  void exchange() {
    const std::int64_t deadline = monotonic_ns() + run_limit_ns;
    int turn = 1;
    while (count_ < blocks_.size()) {
      const std::int64_t begin = monotonic_ns();
      if (begin > deadline) return;
      for (int trip = 0; trip < trips_per_block; ++trip) {
        ping_.value.store(++turn, std::memory_order_release);
        if (!await(turn, deadline)) return;
      }
      blocks_[count_++] = static_cast<double>(monotonic_ns() - begin) / (2.0 * trips_per_block);
    }
  }
  bool await(int turn, std::int64_t deadline) {
    for (int polls = 0;; ++polls) {
      const int seen = pong_.value.load(std::memory_order_acquire);
      if (seen == turn) return true;
      if (seen == refused) return false;
      if (polls == polls_between_clock_reads) {
        if (monotonic_ns() > deadline) return false;
        polls = 0;
      }
    }
  }

  Line ping_, pong_;
  std::array<double, 1024> blocks_{};
  std::size_t count_ = 0;
};

}  // namespace

std::optional<double> core_to_core_ns() {
  const std::vector<int> processors = candidate_processors();
  if (processors.size() < 2) return std::nullopt;
  try {
    return PingPong().run(processors);
  } catch (const std::system_error&) {  // no thread to be had
    return std::nullopt;
  }
}

double copy_gbs(std::span<const std::byte> from, std::span<std::byte> into) {
  std::int64_t best_ns = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::int64_t begin = monotonic_ns();
    std::memcpy(into.data(), from.data(), from.size());
    const std::int64_t spent = std::max<std::int64_t>(monotonic_ns() - begin, 1);
    best_ns = repeat == 0 ? spent : std::min(best_ns, spent);
  }
  return static_cast<double>(from.size()) / static_cast<double>(best_ns);
}

}  // namespace commtune
