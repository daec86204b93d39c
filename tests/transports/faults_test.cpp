// A rank that is killed or halted, on every transport whose ranks are processes: the job ends in
// time with status 4, names the rank and leaves nothing behind.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.hpp"
#include "core/clock.hpp"
#include "jobs.hpp"

namespace commtune::test {
namespace {

constexpr int ranks = 3;

/// Names of what a job could leave behind: shared memory and sockets.
std::set<std::string> leftovers() {
  std::set<std::string> names;
  for (const std::filesystem::path& folder :
       {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path()}) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      if (name.rfind("commtune", 0) == 0 || name.rfind("ucx", 0) == 0) names.insert(name);
    }
  }
  return names;
}

bool has_children() {
  int status = 0;
  return waitpid(-1, &status, WNOHANG) >= 0;
}

/// One round of messages in a ring.
void exchange(Job& job) {
  std::vector<std::byte> out(20'000), in(20'000);
  Counter done;
  job.transport.post_recv((job.rank() + job.size() - 1) % job.size(), 0, in, done.id());
  job.transport.post_send((job.rank() + 1) % job.size(), 0, out, done.id());
  done.wait(job.transport, 2);
}

struct Fault {
  const char* name;
  int signal;
  int after_rounds;  ///< of 4; 0: before the first transfer, 4: when all transfers are done
};
constexpr Fault faults[] = {{"killed_before", SIGKILL, 0},
                            {"killed_during", SIGKILL, 2},
                            {"killed_after", SIGKILL, 4},
                            {"halted_before", SIGSTOP, 0},
                            {"halted_during", SIGSTOP, 2}};

/// Four rounds, and the fault at its place among them.
int suffer(const Fault& fault, Job& job) {
  job.monitor.enter(Phase::timed);
  job.monitor.describe("allreduce/ring", 65536);
  for (int round = 0; round <= 4; ++round) {
    job.monitor.beat(static_cast<std::uint64_t>(round));
    if (job.rank() == 1 && round == fault.after_rounds) raise(fault.signal);
    if (round < 4) exchange(job);
  }
  job.bootstrap.barrier();
  return 0;
}

/// What begins the reason, and what stands in it.
void expect_reason(const std::string& reason, const Fault& fault, bool by_launcher,
                   double timeout_s) {
  const bool killed = fault.signal == SIGKILL;
  const std::string where =
      "in timed iteration " + std::to_string(fault.after_rounds) + " of allreduce/ring";
  // Only some launchers tell a signal from a status.
  const std::string begin =
      killed ? (by_launcher ? "rank 1 " : "rank 1 was killed by signal 9 " + where)
             : fmt::format("no progress for {:g} s: rank 1 was halted by a signal {}", timeout_s,
                           where);
  EXPECT_EQ(reason.rfind(begin, 0), 0U) << reason;
  EXPECT_NE(reason.find(where), std::string::npos) << reason;
}

/// A folder for temporary files that no other program uses meanwhile.
class PrivateTemporaryFolder {
 public:
  PrivateTemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "faults-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail(Errc::system, "mkdtemp {}", name);
    path_ = name;
    if (const char* const value = std::getenv("TMPDIR")) before_ = value;
    setenv("TMPDIR", name.c_str(), 1);
  }
  ~PrivateTemporaryFolder() {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateTemporaryFolder(const PrivateTemporaryFolder&) = delete;
  PrivateTemporaryFolder& operator=(const PrivateTemporaryFolder&) = delete;

 private:
  std::filesystem::path path_;
  std::string before_;
};

class Faults : public ::testing::TestWithParam<std::tuple<const char*, Fault>> {};

TEST_P(Faults, end_the_job_and_name_the_rank) {
  const auto [transport, fault] = GetParam();
  const bool by_launcher =
      std::string_view(transport) == "openmpi" || std::string_view(transport) == "mpich";
  const std::string missing = by_launcher ? mpi_missing(transport) : transport_missing(transport);
  if (!missing.empty()) GTEST_SKIP() << missing;
  // A launcher takes its time to start, and a rank that was never seen counts as well.
  const double timeout_s = fault.signal == SIGKILL ? 30 : by_launcher ? 4 : 1;
  const PrivateTemporaryFolder folder;
  const auto before = leftovers();
  const std::int64_t begin = monotonic_ns();
  const auto body = [fault = fault](Job& job) { return suffer(fault, job); };
  const Outcome outcome = by_launcher ? run_mpi(ranks, body, timeout_s, transport)
                                      : run_local(transport, ranks, body, timeout_s);
  EXPECT_EQ(outcome.status, exit_rank_lost);
  expect_reason(outcome.reason, fault, by_launcher, timeout_s);
  EXPECT_LT(static_cast<double>(monotonic_ns() - begin) * 1e-9, 20);
  EXPECT_FALSE(has_children());
  std::set<std::string> left;
  const auto now = leftovers();
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::inserter(left, left.begin()));
  EXPECT_TRUE(left.empty()) << *left.begin();
}

INSTANTIATE_TEST_SUITE_P(Transports, Faults,
                         ::testing::Combine(::testing::Values("shm", "openmpi", "mpich", "ucx",
                                                              "grpc"),
                                            ::testing::ValuesIn(faults)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace commtune::test
