#pragma once
#include <cstdint>
#include <sched.h>

namespace commtune {

/// Waiting politely: spin for a bounded number of polls, then give the core away. On a machine with
/// more ranks than cores a pure spin costs whole scheduler slices (8 ms instead of 24 us for a
/// 3-rank allreduce on 2 cores), so `crowded` waits yield almost at once.
class Backoff {
 public:
  explicit Backoff(bool crowded) noexcept : limit_(crowded ? 8 : 4096) {}

  /// Call after a poll that found nothing. Returns true when it yielded, the caller's chance to
  /// look at time limits.
  bool pause() noexcept {
    if (++polls_ < limit_) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      return false;
    }
    sched_yield();
    return true;
  }
  /// Call after a poll that made progress.
  void reset() noexcept { polls_ = 0; }

 private:
  std::uint32_t limit_, polls_ = 0;
};

}  // namespace commtune
