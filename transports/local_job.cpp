#include "transports/local_job.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/launch.hpp"

namespace commtune {

namespace {

void flush_output() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

}  // namespace

void begin_rank(local::Board& board, Rank rank) {
  MonitorSlot& slot = board.monitors()[static_cast<std::size_t>(rank)];
  slot.pid.store(getpid(), std::memory_order_relaxed);
  slot.enter(Phase::start);
}

void end_of_rank(local::Board& board, Rank rank, const RankResult& result) {
  MonitorSlot& slot = board.monitors()[static_cast<std::size_t>(rank)];
  if (result.error) {
    slot.fail(result.message);
    board.fail({rank, result.status, result.message, true});
  } else if (result.status != 0) {
    board.fail({rank, result.status,
                fmt::format("ended with status {} in {}", result.status, slot.where()), false});
  } else {
    slot.enter(Phase::done);
  }
  slot.status.store(result.status, std::memory_order_release);
}

void LocalJob::start(Rank per_process, const Process& process) {
  flush_output();
  for (Rank first = 0; first < board_.size(); first += per_process) {
    fork_child(first, per_process, process);
  }
}

void LocalJob::fork_child(Rank first, Rank count, const Process& process) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail(Errc::system, "cannot start rank {}: fork: {}", first, std::strerror(errno));
  if (pid > 0) {
    children_.push_back({pid, first, count, true});
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(exit_rank_lost);
  signals_.restore();
  process(first, count);
  flush_output();
  const int status = board_.monitors()[static_cast<std::size_t>(first)].status.load();
  _exit(count == 1 ? status : 0);
}

Outcome LocalJob::supervise() {
  constexpr double look_every_s = 0.2;
  std::int64_t failed_at = 0;
  for (;;) {
    reap();
    if (!any_running()) break;
    if (signals_.interrupted()) {
      kill_all();
      return {exit_rank_lost, "interrupted"};
    }
    if (board_.failed()) {
      if (failed_at == 0) failed_at = monotonic_ns();
      if (static_cast<double>(monotonic_ns() - failed_at) * 1e-9 > failure_grace_s) kill_all();
    } else if (watchdog_.expired()) {
      std::fputs(watchdog_.table().c_str(), stderr);
      std::string reason = watchdog_.reason();
      kill_all();
      return {exit_rank_lost, std::move(reason)};
    }
    signals_.wait(look_every_s);
  }
  return signals_.interrupted() ? Outcome{exit_rank_lost, "interrupted"} : outcome();
}

void LocalJob::reap() {
  for (Child& child : children_) {
    int wait_status = 0;
    if (!child.running || waitpid(child.pid, &wait_status, WNOHANG) != child.pid) continue;
    child.running = false;
    judge(child, wait_status);
  }
}

/// Records a failure when a process ended without all of its ranks having said how they ended.
void LocalJob::judge(const Child& child, int wait_status) {
  for (Rank rank = child.first; rank < child.first + child.count; ++rank) {
    const MonitorSlot& slot = board_.monitors()[static_cast<std::size_t>(rank)];
    const bool by_signal = WIFSIGNALED(wait_status);
    if (!by_signal && slot.status.load(std::memory_order_acquire) >= 0) continue;
    const std::string end =
        by_signal
            ? fmt::format("was killed by signal {}", WTERMSIG(wait_status))
            : fmt::format("left with status {} before its work was done", WEXITSTATUS(wait_status));
    const std::string whose =
        child.count == 1 ? "" : fmt::format("(of {} in one process) ", child.count);
    board_.fail({rank, exit_rank_lost, whose + end + " in " + slot.where(), false});
    return;
  }
}

bool LocalJob::any_running() const {
  for (const Child& child : children_) {
    if (child.running) return true;
  }
  return false;
}

void LocalJob::kill_all() {
  for (Child& child : children_) {
    if (child.running) kill(child.pid, SIGKILL);
  }
  for (Child& child : children_) {
    if (!child.running) continue;
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    child.running = false;
  }
}

Outcome LocalJob::outcome() const {
  if (!board_.failed()) return {};
  const local::Failure first = board_.failure();
  return {first.status, failure_reason(first, board_.monitors())};
}

std::string failure_reason(const local::Failure& first, std::span<const MonitorSlot> slots) {
  if (!first.said_by_rank) return fmt::format("rank {} {}", first.rank, first.message);
  const std::string_view shared(slots[static_cast<std::size_t>(first.rank)].message);
  for (const MonitorSlot& slot : slots) {
    if (std::string_view(slot.message) != shared) {
      return fmt::format("rank {}: {}", first.rank, first.message);
    }
  }
  return first.message;
}

}  // namespace commtune
