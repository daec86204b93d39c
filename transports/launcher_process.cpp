#include "transports/launcher_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace commtune {

namespace {

constexpr int cannot_execute = 127;

int open_process(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

[[noreturn]] void execute(const std::vector<char*>& arguments,
                          const std::vector<std::string>& variables, int error_pipe) {
  setpgid(0, 0);
  for (const std::string& variable : variables) putenv(const_cast<char*>(variable.c_str()));
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (write(error_pipe, &error, sizeof(error)) < 0) _exit(cannot_execute);
  _exit(cannot_execute);
}

}  // namespace

LauncherProcess::LauncherProcess(const std::vector<std::string>& argv,
                                 const std::vector<std::string>& variables,
                                 const MonitorFile& monitors, const SignalGuard& signals)
    : monitors_(monitors),
      signals_(signals),
      deaths_(epoll_create1(EPOLL_CLOEXEC)),
      processes_(monitors.slots().size()),
      gone_(monitors.slots().size(), false) {
  if (!deaths_) fail(Errc::system, "epoll: {}", std::strerror(errno));
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(Errc::system, "pipe: {}", std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail(Errc::system, "cannot start {}: fork: {}", argv[0], std::strerror(errno));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(cannot_execute);
    signals_.restore();
    execute(arguments, variables, writing.fd());
  }
  setpgid(pid_, pid_);
  group_ = pid_;
  writing.close();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(reading.fd(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    reap(0);
    fail(Errc::unavailable, "cannot start {}: {}", argv[0], std::strerror(error));
  }
}

void LauncherProcess::adopt_new_ranks() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] || gone_[rank]) continue;
    const pid_t pid = monitors_.slots()[rank].pid.load(std::memory_order_acquire);
    if (pid <= 0) continue;
    processes_[rank] = Descriptor(open_process(pid));
    if (!processes_[rank]) {
      if (errno == ESRCH) look_at(rank);
      continue;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = rank;
    epoll_ctl(deaths_.fd(), EPOLL_CTL_ADD, processes_[rank].fd(), &event);
  }
}

bool LauncherProcess::all_adopted() const noexcept {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (!processes_[rank] && !gone_[rank]) return false;
  }
  return true;
}

void LauncherProcess::wait(double seconds) {
  adopt_new_ranks();
  // A rank that is not adopted yet could end unseen.
  constexpr double look_for_ranks_s = 0.01;
  if (!all_adopted()) seconds = std::min(seconds, look_for_ranks_s);
  pollfd deaths{deaths_.fd(), POLLIN, 0};
  signals_.wait(seconds, {&deaths, 1});
  std::array<epoll_event, 16> events;
  int count = 0;
  while ((count = epoll_wait(deaths_.fd(), events.data(), static_cast<int>(events.size()), 0)) >
         0) {
    for (int i = 0; i < count; ++i) look_at(events[static_cast<std::size_t>(i)].data.u64);
  }
  reap(WNOHANG);
}

void LauncherProcess::look_at(std::size_t rank) {
  const MonitorSlot& slot = monitors_.slots()[rank];
  gone_[rank] = true;
  if (processes_[rank]) {
    epoll_ctl(deaths_.fd(), EPOLL_CTL_DEL, processes_[rank].fd(), nullptr);
    processes_[rank].close();
  }
  const bool terminated = slot.phase.load(std::memory_order_acquire) == Phase::terminated;
  const bool ended = slot.status.load(std::memory_order_acquire) >= 0;
  if (!terminated && !ended && lost_rank_ < 0) lost_rank_ = static_cast<int>(rank);
}

bool LauncherProcess::reap(int options) noexcept {
  if (pid_ <= 0) return true;
  int wait_status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &wait_status, options);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  constexpr int signal_base = 128;
  status_ =
      WIFSIGNALED(wait_status) ? signal_base + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status) && !told_to_end_) killed_by_ = WTERMSIG(wait_status);
  pid_ = -1;
  return true;
}

void LauncherProcess::end() noexcept {
  constexpr std::int64_t patience_ns = 2'000'000'000;
  told_to_end_ = true;
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    for (const std::int64_t begin = monotonic_ns();
         !reap(WNOHANG) && monotonic_ns() - begin < patience_ns;) {
      signals_.wait(0.05);
    }
  }
  if (pid_ > 0) {
    kill(-group_, SIGKILL);
    reap(0);
  } else if (group_ > 0) {
    kill(-group_, SIGKILL);
  }
  group_ = -1;
  adopt_new_ranks();
  for (const Descriptor& process : processes_) {
    if (process) syscall(SYS_pidfd_send_signal, process.fd(), SIGKILL, nullptr, 0);
  }
}

}  // namespace commtune
