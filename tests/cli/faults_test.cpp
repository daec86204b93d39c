// Ranks, launchers and the program itself end by force while a benchmark runs, over every runtime
// of this build: the job ends in time, says who was lost, keeps what it had and leaves no process.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "harness/record.hpp"
#include "program.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

struct Runtime {
  const char* name;
  const char* module;  ///< empty: built in
  std::vector<std::string> arguments;
};
const Runtime runtimes[] = {{"shm", "", {"--transport", "shm"}},
                            {"openmpi", "openmpi", {"--transport", "mpi", "--mpi", "openmpi"}},
                            {"mpich", "mpich", {"--transport", "mpi", "--mpi", "mpich"}},
                            {"ucx", "ucx", {"--transport", "ucx"}},
                            {"grpc", "grpc", {"--transport", "grpc"}}};

struct Fault {
  const char* name;
  enum class Target : std::uint8_t { rank, launcher, program } target;
  int signal;
};
constexpr Fault faults[] = {{"rank_killed", Fault::Target::rank, SIGKILL},
                            {"rank_halted", Fault::Target::rank, SIGSTOP},
                            {"launcher_killed", Fault::Target::launcher, SIGKILL},
                            {"program_ended", Fault::Target::program, SIGTERM},
                            {"program_killed", Fault::Target::program, SIGKILL}};

/// Fields 3 and 4 of /proc/PID/stat: state and parent; 'X' when there is no such process.
std::pair<char, pid_t> state_and_parent(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {'X', 0};
  char state = 'X';
  pid_t parent = 0;
  std::istringstream(line.substr(line.rfind(')') + 1)) >> state >> parent;
  return {state, parent};
}

bool alive(pid_t pid) {
  const char state = state_and_parent(pid).first;
  return state != 'X' && state != 'Z';
}

/// True once `done` is; false when it is not within `seconds`.
template <class Done>
bool within(double seconds, const Done& done) {
  const std::int64_t begin = monotonic_ns();
  while (!done()) {
    if (static_cast<double>(monotonic_ns() - begin) * 1e-9 > seconds) return false;
    sched_yield();
  }
  return true;
}

/// The program with its messages in a file. Unlike run_process() it cleans up nothing: what the
/// program leaves behind stays to be found.
class Started {
 public:
  Started(std::vector<std::string> arguments, const std::string& messages) : messages_(messages) {
    arguments.insert(arguments.begin(), COMMTUNE_PROGRAM);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    const int file = open(messages.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Started() {
    if (!ended_) kill(pid_, SIGKILL);
    wait();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  pid_t pid() const noexcept { return pid_; }
  bool ended() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  /// Exit status, or 128 + signal.
  int wait() {
    if (!ended_) ended_ = waitpid(pid_, &status_, 0) == pid_;
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  }
  std::string messages() const {
    std::ifstream file(messages_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string messages_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

/// The ranks' process ids once `file` holds a row.
std::vector<pid_t> wait_for_ranks(Started& program, const std::string& file) {
  std::vector<pid_t> pids;
  within(60, [&] {
    if (!std::filesystem::exists(file)) return program.ended();
    const Json document = read_json(file);
    if (document.at("rows").empty()) return program.ended();
    for (const Json& rank : document.at("run").at("ranks")) {
      pids.push_back(rank.at("pid").get<pid_t>());
    }
    return true;
  });
  return pids;
}

/// The program's child from which `rank` descends.
pid_t launcher_of(pid_t rank, pid_t program) {
  pid_t each = rank;
  while (each > 1 && state_and_parent(each).second != program) each = state_and_parent(each).second;
  return each;
}

class ForcedEnd : public ::testing::TestWithParam<std::tuple<Runtime, Fault>> {};

TEST_P(ForcedEnd, is_reported_in_time_and_leaves_nothing_behind) {
  const auto& [runtime, fault] = GetParam();
  const std::string module = runtime.module;
  if (!module.empty() && find_module("transport_" + module).empty()) {
    GTEST_SKIP() << module << " is not in this build";
  }
  const bool has_launcher = runtime.arguments[1] == "mpi";
  if (fault.target == Fault::Target::launcher && !has_launcher) {
    GTEST_SKIP() << runtime.name << " starts its ranks without a launcher";
  }
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  std::vector<std::string> arguments{"bench", "allreduce", "-n",
                                     "3",     "--sizes",   "4,16M",
                                     "-o",    file,        "--iterations",
                                     "300",   "--timeout", fault.signal == SIGSTOP ? "3" : "60"};
  arguments.insert(arguments.end(), runtime.arguments.begin(), runtime.arguments.end());
  Started program(arguments, folder.file("messages"));
  const std::vector<pid_t> ranks = wait_for_ranks(program, file);
  ASSERT_EQ(ranks.size(), 3U) << program.messages();
  const pid_t target = fault.target == Fault::Target::rank ? ranks[1]
                       : fault.target == Fault::Target::program
                           ? program.pid()
                           : launcher_of(ranks[1], program.pid());
  ASSERT_EQ(kill(target, fault.signal), 0);
  ASSERT_TRUE(within(20, [&] { return program.ended(); })) << program.messages();
  EXPECT_TRUE(within(10, [&] { return std::none_of(ranks.begin(), ranks.end(), alive); }));
  const bool survived = fault.target != Fault::Target::program || fault.signal != SIGKILL;
  EXPECT_EQ(program.wait(), survived ? exit_rank_lost : 128 + SIGKILL) << program.messages();
  const ResultDocument result = read_result(file);
  EXPECT_EQ(result.status, survived ? "failed" : "partial");
  EXPECT_EQ(result.rows.at(0).status, "ok");
  if (!survived) return;
  EXPECT_NE(program.messages().find(result.reason), std::string::npos) << program.messages();
  const auto expect_told = [&](const char* text) {
    EXPECT_NE(result.reason.find(text), std::string::npos) << result.reason;
  };
  if (fault.target == Fault::Target::program) return expect_told("interrupted");
  if (fault.target == Fault::Target::launcher) {
    return expect_told(" was killed by signal 9, rank 0 was in ");
  }
  expect_told("rank 1");
  expect_told("allreduce/");
  if (fault.signal == SIGSTOP) expect_told("no progress for 3 s: rank 1 was halted by a signal");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ForcedEnd,
                         ::testing::Combine(::testing::ValuesIn(runtimes),
                                            ::testing::ValuesIn(faults)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace commtune
