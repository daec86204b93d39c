#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance.hpp"
#include "core/clock.hpp"
#include "core/process.hpp"
#include "jobs.hpp"

namespace commtune::test {
namespace {

class MpiLaunch : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string missing = mpi_missing(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
  }
  static Outcome run(int ranks, const std::function<int(Job&)>& body, double timeout_s = 60) {
    return run_mpi(ranks, body, timeout_s, GetParam());
  }
};

void at_work(Job& job) {
  job.monitor.enter(Phase::timed);
  job.monitor.describe("allreduce/ring", 65536);
  job.monitor.beat(12);
}

int wait_for_ever(Job& job) {
  for (;;) job.transport.poll();
}

TEST_P(MpiLaunch, names_the_rank_that_was_killed_and_what_it_did) {
  const std::int64_t begin = monotonic_ns();
  const Outcome outcome = run(3, [](Job& job) {
    at_work(job);
    job.bootstrap.barrier();
    if (job.rank() == 1) kill(getpid(), SIGKILL);
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  // Only some launchers tell a signal from a status.
  EXPECT_EQ(outcome.reason.rfind("rank 1 ", 0), 0U) << outcome.reason;
  EXPECT_NE(outcome.reason.find(" in timed iteration 12 of allreduce/ring, 65536 bytes"),
            std::string::npos)
      << outcome.reason;
  EXPECT_LT(static_cast<double>(monotonic_ns() - begin) * 1e-9, 20);
}

TEST_P(MpiLaunch, reports_the_error_of_a_rank) {
  const Outcome outcome = run(2, [](Job& job) {
    job.bootstrap.barrier();
    if (job.rank() == 1) fail(Errc::wrong_result, "bad data");
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_EQ(outcome.reason, "rank 1: bad data");
}

TEST_P(MpiLaunch, reports_a_usage_error_of_all_ranks_once) {
  const Outcome outcome = run(3, [](Job&) -> int { fail(Errc::usage, "--root: 9 is not a rank"); });
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_EQ(outcome.reason, "--root: 9 is not a rank");
}

TEST_P(MpiLaunch, watchdog_ends_a_hang) {
  const Outcome outcome = run(
      2,
      [](Job& job) {
        job.bootstrap.barrier();
        at_work(job);
        return wait_for_ever(job);
      },
      4);
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_NE(outcome.reason.find("no progress for 4 s"), std::string::npos) << outcome.reason;
  EXPECT_NE(outcome.reason.find("rank 1 is in timed iteration 12 of allreduce/ring"),
            std::string::npos)
      << outcome.reason;
}

TEST_P(MpiLaunch, names_the_library_that_is_loaded) {
  const Outcome outcome = run(2, [](Job& job) {
    const LoadedLibrary& library = job.library;
    expect(library.name == "openmpi" || library.name == "mpich", "name {}", library.name);
    expect(!library.version.empty() && library.version.size() < 20, "version {}", library.version);
    expect(library.version == library.built_version, "loaded {}, built {}", library.version,
           library.built_version);
    expect(library.path.find("libmpi") != std::string::npos, "path {}", library.path);
    return 0;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Flavours, MpiLaunch, ::testing::Values("openmpi", "mpich"),
                         [](const auto& test) { return std::string(test.param); });

TEST(MpiLauncher, notices_that_the_library_ignores_the_launcher) {
  if (const std::string missing = transport_missing("mpi"); !missing.empty())
    GTEST_SKIP() << missing;
  if (!launcher_environment().kind.empty()) {
    run_mpi(1, [](Job&) { return 0; });
  }
  const std::string filter =
      "--gtest_filter=MpiLauncher.notices_that_the_library_ignores_the_launcher";
  // A launcher that announces four ranks in its environment but offers no service to join them.
  const ProcessResult result = run_process(
      {.argv = {self_path(), filter},
       .set_env = {{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}, {"OMPI_ALLOW_RUN_AS_ROOT", "1"}},
       .unset_env = {"COMMTUNE_MONITOR"},
       .timeout_s = 60,
       .capture = true});
  EXPECT_EQ(result.status, exit_unavailable);
  EXPECT_NE(result.err.find("the launcher started 4 ranks, the MPI library sees 1"),
            std::string::npos)
      << result.err;
}

TEST(MpiLauncher, that_does_not_exist_is_named) {
  if (const std::string missing = transport_missing("mpi"); !missing.empty())
    GTEST_SKIP() << missing;
  LaunchOptions options;
  options.transport = "mpi";
  options.launcher = "no-such-launcher --fast";
  options.argv = {self_path(), "--gtest_filter=none"};
  try {
    run_job(options, [](Job&) { return 0; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unavailable);
    EXPECT_NE(std::string(error.what()).find("no-such-launcher"), std::string::npos);
  }
}

TEST(LauncherEnvironment, is_read_from_the_environment) {
  const auto with = [](std::vector<std::pair<std::string, std::string>> variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const LauncherEnvironment found = launcher_environment();
    for (const auto& [name, value] : variables) unsetenv(name.c_str());
    return fmt::format("{} {}/{}", found.kind, found.rank, found.size);
  };
  EXPECT_EQ(with({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "openmpi 2/4");
  EXPECT_EQ(with({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}), "mpich 1/3");
  EXPECT_EQ(with({{"PMIX_RANK", "1"},
                  {"SLURM_PROCID", "1"},
                  {"SLURM_NTASKS", "2"},
                  {"SLURM_STEP_ID", "0"}}),
            "slurm 1/2");
  EXPECT_EQ(with({{"SLURM_PROCID", "1"},
                  {"SLURM_NTASKS", "4"},
                  {"SLURM_STEP_NUM_TASKS", "3"},
                  {"SLURM_STEP_ID", "0"}}),
            "slurm 1/3");
  // In the script of a batch job, and beside it.
  EXPECT_EQ(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "4294967291"}}),
            " 0/1");
  EXPECT_EQ(with({{"PMIX_RANK", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}), " 0/1");
  EXPECT_EQ(with({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), " 0/1");
}

}  // namespace
}  // namespace commtune::test
