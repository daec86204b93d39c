#include "core/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
/// How long output is read after the group is dead; only a process that left the group and kept
/// the pipe open makes this wait last.
constexpr std::int64_t drain_ns = 500 * ns_per_ms;
/// How often to look at the child on kernels without pidfd_open.
constexpr int fallback_poll_ms = 5;

struct Pipe {
  Descriptor read_end, write_end;
};

/// Both ends close on exec and lie above the standard streams, even when a caller closed those.
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(Errc::system, "cannot create a pipe: {}", std::strerror(errno));
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&pipe.read_end, &pipe.write_end}) {
    if (end->fd() > STDERR_FILENO) continue;
    *end = Descriptor(fcntl(end->fd(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!*end) fail(Errc::system, "cannot create a pipe: {}", std::strerror(errno));
  }
  return pipe;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  void use(int fd, int as) { posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void use_null(int as) { posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDWR, 0); }
  const posix_spawn_file_actions_t* data() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Starts `program` in process group `group` (0: a new one) with an empty signal mask. Returns the
/// pid, or -errno.
pid_t spawn(const std::string& program, const SpawnActions& actions, pid_t group,
            const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (const auto& text : texts) list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
  };
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, group);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGCHLD);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), actions.data(), &attributes,
                                pointers(argv).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -error;
}

/// Owns a started process; kills and reaps it unless its end was seen.
class Child {
 public:
  explicit Child(pid_t pid) noexcept : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ended(0);
  }
  pid_t pid() const noexcept { return pid_; }
  /// Looks (WNOHANG) or waits (0) for the end of the process.
  bool ended(int options) noexcept {
    pid_t got = -1;
    do {
      got = waitpid(pid_, &status_, options);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    lost_ = got < 0;
    pid_ = -1;
    return true;
  }
  /// Exit status, or 128 + signal, once ended. Throws when another part of the program reaped it.
  int status() const {
    if (lost_) fail(Errc::system, "the exit status of a child was taken by another waiter");
    constexpr int signal_base = 128;
    return WIFSIGNALED(status_) ? signal_base + WTERMSIG(status_) : WEXITSTATUS(status_);
  }

 private:
  pid_t pid_;
  int status_ = 0;
  bool lost_ = false;
};

/// A process group that cannot outlive this process: its leader is a shell that reads from a pipe
/// held here and kills the group when the pipe closes, which the kernel does when this process
/// dies, however it dies. Destruction kills whatever is left of the group.
class Group {
 public:
  Group() : leader_(start(life_)) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    kill_all();
    leader_.ended(0);
  }
  pid_t id() const noexcept { return leader_.pid(); }
  void kill_all() const noexcept { ::kill(-leader_.pid(), SIGKILL); }

 private:
  static pid_t start(Descriptor& life) {
    Pipe pipe = make_pipe();
    SpawnActions actions;
    actions.use(pipe.read_end.fd(), STDIN_FILENO);
    actions.use_null(STDOUT_FILENO);
    actions.use_null(STDERR_FILENO);
    const pid_t pid =
        spawn("/bin/sh", actions, 0, {"sh", "-c", "read -r line; kill -s KILL 0"}, {});
    if (pid < 0) fail(Errc::system, "cannot start /bin/sh: {}", std::strerror(-pid));
    life = std::move(pipe.write_end);
    return pid;
  }

  Descriptor life_;
  Child leader_;
};

struct Stream {
  Descriptor from;
  std::string* into;
  /// Takes what is there; closes at the end.
  void drain() {
    std::array<char, 16384> buffer;
    const auto got = ::read(from.fd(), buffer.data(), buffer.size());
    if (got > 0) into->append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) from.close();
  }
};
using Streams = std::array<Stream, 2>;

bool any_open(const Streams& streams) { return streams[0].from || streams[1].from; }

/// Waits until `process` (a pidfd, or -1) is readable, output arrives, or `timeout_ms` passes (-1:
/// no limit), and takes the output.
void wait_for_events(int process, Streams& streams, int timeout_ms) {
  std::array<pollfd, 3> events{pollfd{process, POLLIN, 0}, pollfd{streams[0].from.fd(), POLLIN, 0},
                               pollfd{streams[1].from.fd(), POLLIN, 0}};
  if (::poll(events.data(), events.size(), timeout_ms) <= 0) return;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (events[i + 1].revents != 0) streams[i].drain();
  }
}

int remaining_ms(std::int64_t deadline_ns) {
  if (deadline_ns == std::numeric_limits<std::int64_t>::max()) return -1;
  constexpr std::int64_t longest_ms = 60'000;
  const std::int64_t left = deadline_ns - monotonic_ns();
  return static_cast<int>(
      std::clamp<std::int64_t>((left + ns_per_ms - 1) / ns_per_ms, 0, longest_ms));
}

/// Waits until the child ends, or for the deadline and then the group it kills, and takes all
/// output. Returns whether the deadline passed.
bool supervise(Child& child, const Group& group, Streams& streams, std::int64_t deadline_ns) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child.pid(), 0)));
  bool timed_out = false;
  while (!child.ended(timed_out ? 0 : WNOHANG)) {
    int timeout_ms = remaining_ms(deadline_ns);
    timed_out = timeout_ms == 0;
    if (timed_out) {
      group.kill_all();
      continue;
    }
    if (!process) {
      timeout_ms = timeout_ms < 0 ? fallback_poll_ms : std::min(timeout_ms, fallback_poll_ms);
    }
    wait_for_events(process.fd(), streams, timeout_ms);
  }
  group.kill_all();
  const std::int64_t drain_deadline = monotonic_ns() + drain_ns;
  while (any_open(streams) && remaining_ms(drain_deadline) > 0) {
    wait_for_events(-1, streams, remaining_ms(drain_deadline));
  }
  return timed_out;
}

std::vector<std::string> make_environment(const ProcessOptions& options) {
  const auto replaced = [&](std::string_view variable) {
    const auto named = [&](std::string_view key) {
      return variable.substr(0, variable.find('=')) == key;
    };
    return std::any_of(options.unset_env.begin(), options.unset_env.end(), named) ||
           std::any_of(options.set_env.begin(), options.set_env.end(),
                       [&](const auto& pair) { return named(pair.first); });
  };
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!replaced(*variable)) environment.emplace_back(*variable);
  }
  for (const auto& [key, value] : options.set_env) {
    require(!key.empty() && key.find('=') == std::string::npos,
            "\"{}\" is not the name of an environment variable", key);
    environment.push_back(fmt::format("{}={}", key, value));
  }
  return environment;
}

std::int64_t deadline_of(double timeout_s) {
  constexpr double longest_s = 1e9;
  require(timeout_s >= 0, "a process time limit of {} s is not possible; use 0 for none",
          timeout_s);
  if (timeout_s == 0) return std::numeric_limits<std::int64_t>::max();
  return monotonic_ns() + static_cast<std::int64_t>(std::min(timeout_s, longest_s) * 1e9);
}

}  // namespace

ProcessResult run_process(const ProcessOptions& options) {
  require(!options.argv.empty(), "no program to run was given");
  const std::string program = find_program(options.argv.front());
  if (program.empty()) {
    fail(Errc::unavailable, "program \"{}\" was not found or is not executable; PATH is {}",
         options.argv.front(), std::getenv("PATH") == nullptr ? "unset" : std::getenv("PATH"));
  }
  const auto environment = make_environment(options);
  const std::int64_t deadline_ns = deadline_of(options.timeout_s);
  ProcessResult result;
  Streams streams{Stream{Descriptor(), &result.out}, Stream{Descriptor(), &result.err}};
  SpawnActions actions;
  actions.use_null(STDIN_FILENO);
  std::array<Pipe, 2> pipes;
  if (options.capture) {
    for (Pipe& pipe : pipes) pipe = make_pipe();
    actions.use(pipes[0].write_end.fd(), STDOUT_FILENO);
    actions.use(pipes[1].write_end.fd(), STDERR_FILENO);
  }
  const Group group;
  const pid_t pid = spawn(program, actions, group.id(), options.argv, environment);
  if (pid < 0) fail(Errc::unavailable, "cannot run \"{}\": {}", program, std::strerror(-pid));
  Child child(pid);
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    pipes[i].write_end.close();
    streams[i].from = std::move(pipes[i].read_end);
  }
  result.timed_out = supervise(child, group, streams, deadline_ns);
  result.status = child.status();
  return result;
}

std::string find_program(const std::string& program) {
  const auto runnable = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    return runnable(program) ? std::filesystem::absolute(program).string() : std::string();
  }
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!program.empty() && !folders.empty()) {
    const auto end = folders.find(':');
    const auto folder = folders.substr(0, end);
    const auto candidate = std::filesystem::absolute(folder.empty() ? "." : folder) / program;
    if (runnable(candidate)) return candidate.string();
    folders = end == std::string_view::npos ? "" : folders.substr(end + 1);
  }
  return {};
}

std::string self_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace commtune
