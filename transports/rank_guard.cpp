#include "transports/rank_guard.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/watchdog.hpp"

namespace commtune {

RankGuard::RankGuard(const MonitorSlot& slot, int rank, double timeout_s,
                     std::function<void(const std::string&)> lost)
    : slot_(slot), rank_(rank), timeout_s_(timeout_s), lost_(std::move(lost)), thread_([this] {
        watch();
      }) {}

void RankGuard::leave(const std::string& message, int status) {
  std::fflush(stdout);
  if (!message.empty()) {
    std::fprintf(stderr, "commtune: rank %d: %s\n", rank_, message.c_str());
    if (lost_) lost_(message);
  }
  _exit(status);
}

RankGuard::~RankGuard() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void RankGuard::arm(double seconds, int status, std::string message) {
  {
    const std::lock_guard lock(mutex_);
    deadline_ = Deadline{monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9), status,
                         std::move(message)};
  }
  changed_.notify_one();
}

void RankGuard::disarm() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
}

void RankGuard::watch() {
  Watchdog watchdog({&slot_, 1}, timeout_s_);
  std::int64_t idle_until = monotonic_ns();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    const std::int64_t now = monotonic_ns();
    if (deadline_ && now >= deadline_->at_ns) leave(deadline_->message, deadline_->status);
    const Phase phase = slot_.phase.load(std::memory_order_acquire);
    if (phase == Phase::terminated) {
      if (deadline_ && deadline_->status != 0) leave(deadline_->message, deadline_->status);
      leave(fmt::format("ended by the launcher in {}: another rank was lost", slot_.where()),
            exit_rank_lost);
    }
    const bool waiting = phase == Phase::idle || phase == Phase::done || phase == Phase::failed;
    const bool stuck = watchdog.expired();
    if (waiting) idle_until = now;
    if (timeout_s_ <= 0 || !stuck) continue;
    if (static_cast<double>(now - idle_until) * 1e-9 <= timeout_s_) continue;
    leave(fmt::format("no progress for {:g} s in {}", timeout_s_, slot_.where()), exit_rank_lost);
  }
}

}  // namespace commtune
