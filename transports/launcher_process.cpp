#include "transports/launcher_process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
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
      processes_(monitors.slots().size()),
      gone_(monitors.slots().size(), false) {
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
    if (!processes_[rank] && errno == ESRCH) look_at(rank);
  }
}

void LauncherProcess::wait(double seconds) {
  adopt_new_ranks();
  std::vector<pollfd> files;
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (!processes_[rank]) continue;
    files.push_back({processes_[rank].fd(), POLLIN, 0});
    ranks.push_back(rank);
  }
  signals_.wait(seconds, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].revents != 0) look_at(ranks[i]);
  }
  reap(WNOHANG);
}

void LauncherProcess::look_at(std::size_t rank) {
  const MonitorSlot& slot = monitors_.slots()[rank];
  gone_[rank] = true;
  processes_[rank].close();
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
  pid_ = -1;
  return true;
}

void LauncherProcess::end() noexcept {
  constexpr std::int64_t patience_ns = 2'000'000'000;
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
