#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/topology.hpp"
#include "transports/launch.hpp"
#include "transports/local/endpoint.hpp"
#include "transports/local/local_bootstrap.hpp"
#include "transports/processors.hpp"
#include "transports/rank_body.hpp"
#include "transports/signals.hpp"
#include "transports/watchdog.hpp"

namespace commtune {

namespace {

using Body = std::function<int(Job&)>;

void run_rank(local::Fabric& fabric, Rank rank, int processor, const Body& body) {
  MonitorSlot& slot = fabric.monitors()[static_cast<std::size_t>(rank)];
  slot.pid.store(getpid(), std::memory_order_relaxed);
  slot.enter(Phase::start);
  if (processor >= 0) bind_to_processor(processor);
  const RankResult result = run_guarded([&] {
    local::Endpoint endpoint(fabric, rank);
    local::LocalBootstrap bootstrap(fabric, rank);
    Job job{bootstrap, endpoint, slot, {}};
    return body(job);
  });
  if (result.error) {
    slot.fail(result.message);
    fabric.fail({rank, result.status, result.message, true});
  } else if (result.status != 0) {
    fabric.fail({rank, result.status,
                 fmt::format("ended with status {} in {}", result.status, slot.where()), false});
  } else {
    slot.enter(Phase::done);
  }
  slot.status.store(result.status, std::memory_order_release);
}

void flush_output() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

/// The processes of a local job, from start to the last one's end.
class LocalJob {
 public:
  LocalJob(const LaunchOptions& options, local::Fabric& fabric)
      : fabric_(fabric), watchdog_(fabric.monitors(), options.timeout_s) {}
  ~LocalJob() { kill_all(); }
  LocalJob(const LocalJob&) = delete;
  LocalJob& operator=(const LocalJob&) = delete;

  void start(const Body& body, const std::vector<int>& processors);
  Outcome supervise();

 private:
  struct Child {
    pid_t pid;
    Rank first, count;  ///< the ranks it runs
    bool running;
  };
  void fork_child(Rank first, Rank count, const Body& body, const std::vector<int>& processors);
  void reap();
  void judge(const Child&, int wait_status);
  bool any_running() const;
  void kill_all();
  Outcome outcome() const;

  local::Fabric& fabric_;
  SignalGuard signals_;
  Watchdog watchdog_;
  std::vector<Child> children_;
};

void LocalJob::start(const Body& body, const std::vector<int>& processors) {
  flush_output();
  if (fabric_.kind() == local::Fabric::Kind::threads) {
    fork_child(0, fabric_.size(), body, processors);
  } else {
    for (Rank rank = 0; rank < fabric_.size(); ++rank) fork_child(rank, 1, body, processors);
  }
}

void LocalJob::fork_child(Rank first, Rank count, const Body& body,
                          const std::vector<int>& processors) {
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
  const auto processor_of = [&](Rank rank) {
    return fabric_.crowded() ? -1 : processors[static_cast<std::size_t>(rank) % processors.size()];
  };
  if (count == 1) {
    run_rank(fabric_, first, processor_of(first), body);
  } else {
    std::vector<std::thread> threads;
    for (Rank rank = first; rank < first + count; ++rank) {
      threads.emplace_back([&, rank] { run_rank(fabric_, rank, processor_of(rank), body); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  flush_output();
  const int status = fabric_.monitors()[static_cast<std::size_t>(first)].status.load();
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
    if (fabric_.failed()) {
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
    const MonitorSlot& slot = fabric_.monitors()[static_cast<std::size_t>(rank)];
    const bool by_signal = WIFSIGNALED(wait_status);
    if (!by_signal && slot.status.load(std::memory_order_acquire) >= 0) continue;
    const std::string end =
        by_signal
            ? fmt::format("was killed by signal {}", WTERMSIG(wait_status))
            : fmt::format("left with status {} before its work was done", WEXITSTATUS(wait_status));
    const std::string whose = child.count == 1 ? "" : fmt::format("(of {} threads) ", child.count);
    fabric_.fail({rank, exit_rank_lost, whose + end + " in " + slot.where(), false});
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
  if (!fabric_.failed()) return {};
  const local::Failure first = fabric_.failure();
  return {first.status, failure_reason(first, fabric_.monitors())};
}

}  // namespace

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

Outcome run_local_job(const LaunchOptions& options, local::Fabric::Kind kind, const Body& body) {
  const std::vector<int> processors = usable_processors();
  const bool crowded = static_cast<std::size_t>(options.ranks) > processors.size();
  local::Fabric fabric(kind, options.ranks, crowded);
  LocalJob job(options, fabric);
  job.start(body, processors);
  return job.supervise();
}

}  // namespace commtune
