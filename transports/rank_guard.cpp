#include "transports/rank_guard.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/watchdog.hpp"

namespace commtune {

namespace {

[[noreturn]] void leave(int rank, const std::string& message, int status) {
  std::fflush(stdout);
  if (!message.empty()) std::fprintf(stderr, "commtune: rank %d: %s\n", rank, message.c_str());
  _exit(status);
}

}  // namespace

RankGuard::RankGuard(const MonitorSlot& slot, int rank, double timeout_s)
    : slot_(slot), rank_(rank), timeout_s_(timeout_s), thread_([this] { watch(); }) {}

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
    changed_.wait_for(lock, std::chrono::milliseconds(500));
    const std::int64_t now = monotonic_ns();
    if (deadline_ && now >= deadline_->at_ns) leave(rank_, deadline_->message, deadline_->status);
    const Phase phase = slot_.phase.load(std::memory_order_relaxed);
    const bool waiting = phase == Phase::idle || phase == Phase::done || phase == Phase::failed;
    const bool stuck = watchdog.expired();
    if (waiting) idle_until = now;
    if (timeout_s_ <= 0 || !stuck) continue;
    if (static_cast<double>(now - idle_until) * 1e-9 <= timeout_s_) continue;
    leave(rank_, fmt::format("no progress for {:g} s in {}", timeout_s_, slot_.where()),
          exit_rank_lost);
  }
}

}  // namespace commtune
