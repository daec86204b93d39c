#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conformance.hpp"
#include "core/clock.hpp"
#include "jobs.hpp"
#include "transports/module.hpp"

namespace commtune::test {
namespace {

double seconds_since(std::int64_t begin) {
  return static_cast<double>(monotonic_ns() - begin) * 1e-9;
}

/// Process ids of the ranks, kept in memory that outlives them.
class Pids {
 public:
  Pids()
      : pids_(static_cast<std::atomic<pid_t>*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Pids() { munmap(pids_, 4096); }
  Pids(const Pids&) = delete;
  Pids& operator=(const Pids&) = delete;
  void note(Rank rank) { pids_[rank].store(getpid()); }
  bool all_gone(int ranks) const {
    for (int i = 0; i < ranks; ++i) {
      if (pids_[i].load() == 0 || kill(pids_[i].load(), 0) == 0) return false;
    }
    return true;
  }

 private:
  std::atomic<pid_t>* pids_;
};

int wait_for_ever(Job& job) {
  std::vector<std::byte> data(8);
  Counter done;
  const Rank other = (job.rank() + 1) % job.size();
  job.transport.post_recv(other, 0, data, done.id());
  for (;;) job.transport.poll();
}

class Launch : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, Launch, ::testing::Values("shm", "threads"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Launch, reports_the_error_of_the_rank_that_failed_first) {
  Pids pids;
  const std::int64_t begin = monotonic_ns();
  const Outcome outcome = run_local(GetParam(), 3, [&](Job& job) {
    pids.note(job.rank());
    if (job.rank() == 1) fail(Errc::unavailable, "no such device");
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_unavailable);
  EXPECT_EQ(outcome.reason, "rank 1: no such device");
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_TRUE(pids.all_gone(3));
}

TEST_P(Launch, reports_a_usage_error_of_all_ranks_once) {
  const Outcome outcome = run_local(GetParam(), 3, [](Job& job) -> int {
    job.bootstrap.barrier();
    fail(Errc::usage, "--root: 9 is not a rank");
  });
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_EQ(outcome.reason, "--root: 9 is not a rank");
}

TEST_P(Launch, passes_a_status_through) {
  const Outcome outcome = run_local(GetParam(), 2, [](Job& job) {
    job.monitor.describe("barrier/ring", 0);
    job.bootstrap.barrier();
    return job.rank() == 1 ? 7 : 0;
  });
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.reason,
            "rank 1 ended with status 7 in start iteration 0 of barrier/ring, 0 bytes");
}

TEST_P(Launch, ends_a_rank_that_ignores_the_failure_of_another) {
  const std::int64_t begin = monotonic_ns();
  const Outcome outcome = run_local(GetParam(), 2, [](Job& job) -> int {
    if (job.rank() == 0) fail(Errc::peer, "lost");
    for (;;) pause();
  });
  EXPECT_EQ(outcome.reason, "rank 0: lost");
  EXPECT_LT(seconds_since(begin), 10);
}

TEST_P(Launch, a_rank_that_waits_in_the_bootstrap_learns_of_a_failure) {
  const std::int64_t begin = monotonic_ns();
  const Outcome outcome = run_local(GetParam(), 2, [](Job& job) -> int {
    if (job.rank() == 1) fail(Errc::wrong_result, "bad data");
    try {
      job.bootstrap.barrier();
    } catch (const Error& error) {
      if (std::string_view(error.what()) == "rank 1 failed: bad data") return 0;
    }
    std::abort();
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_EQ(outcome.reason, "rank 1: bad data");
  EXPECT_LT(seconds_since(begin), 10);
}

TEST_P(Launch, watchdog_names_phase_and_operation_of_a_hang) {
  Pids pids;
  const Outcome outcome = run_local(
      GetParam(), 2,
      [&](Job& job) -> int {
        pids.note(job.rank());
        job.monitor.enter(Phase::timed);
        job.monitor.describe("allreduce/ring", 65536);
        job.monitor.beat(static_cast<std::uint64_t>(12 + job.rank()));
        return wait_for_ever(job);
      },
      1);
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_NE(outcome.reason.find("no progress for 1 s: "), std::string::npos) << outcome.reason;
  EXPECT_NE(outcome.reason.find("rank 0 is in timed iteration 12 of allreduce/ring, 65536 bytes"),
            std::string::npos)
      << outcome.reason;
  EXPECT_NE(outcome.reason.find("rank 1 is in timed iteration 13"), std::string::npos)
      << outcome.reason;
  EXPECT_TRUE(pids.all_gone(2));
}

TEST(ShmLaunch, names_the_rank_that_was_killed_and_what_it_did) {
  Pids pids;
  const std::int64_t begin = monotonic_ns();
  const Outcome outcome = run_local("shm", 3, [&](Job& job) {
    pids.note(job.rank());
    job.monitor.enter(Phase::timed);
    job.monitor.describe("allreduce/ring", 65536);
    job.monitor.beat(12);
    if (job.rank() == 1) kill(getpid(), SIGKILL);
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason,
            "rank 1 was killed by signal 9 in timed iteration 12 of allreduce/ring, 65536 bytes");
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_TRUE(pids.all_gone(3));
}

TEST(ShmLaunch, names_the_rank_that_was_halted) {
  const Outcome outcome = run_local(
      "shm", 3,
      [&](Job& job) {
        job.monitor.describe("allreduce/ring", 65536);
        job.monitor.enter(Phase::timed);
        job.bootstrap.barrier();
        if (job.rank() == 1) kill(getpid(), SIGSTOP);
        return wait_for_ever(job);
      },
      1);
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason.rfind("no progress for 1 s: rank 1 was halted by a signal in timed "
                                 "iteration 0 of allreduce/ring",
                                 0),
            0U)
      << outcome.reason;
}

TEST(ShmLaunch, a_rank_that_leaves_early_fails_the_job) {
  const Outcome outcome = run_local("shm", 2, [](Job& job) {
    if (job.rank() == 1) _exit(0);
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason, "rank 1 left with status 0 before its work was done in phase start");
}

TEST(ShmLaunch, an_interrupted_job_leaves_nothing_behind) {
  Pids pids;
  const Outcome outcome = run_local("shm", 2, [&](Job& job) {
    pids.note(job.rank());
    job.bootstrap.barrier();
    if (job.rank() == 0) kill(getppid(), SIGTERM);
    return wait_for_ever(job);
  });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason, "interrupted");
  EXPECT_TRUE(pids.all_gone(2));
}

TEST(ShmLaunch, output_written_before_and_in_a_job_appears_once) {
  ::testing::internal::CaptureStdout();
  std::printf("before ");
  run_local("shm", 2, [](Job& job) {
    if (job.rank() == 0) std::printf("inside");
    return 0;
  });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "before inside");
}

TEST(LocalLaunch, is_crowded_only_beyond_the_usable_processors) {
  const auto processors = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const Outcome outcome = run_local("threads", processors + 1, [](Job& job) {
    expect(job.transport.crowded(), "not crowded");
    return 0;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
  EXPECT_EQ(run_local("shm", 1, [](Job& job) { return job.transport.crowded() ? 1 : 0; }).status,
            0);
}

TEST(LocalLaunch, refuses_what_cannot_run) {
  EXPECT_THROW(run_local("shm", 0, [](Job&) { return 0; }), Error);
  EXPECT_THROW(run_local(
                   "shm", 1, [](Job&) { return 0; }, 0),
               Error);
  try {
    run_local("pigeon", 1, [](Job&) { return 0; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::usage);
    EXPECT_STREQ(
        error.what(),
        "--transport: unknown transport \"pigeon\"; known: shm, threads, mpi, ucx, grpc, sim");
  }
}

TEST(Modules, a_missing_or_broken_module_says_why) {
  try {
    load_module("does_not_exist", "symbol");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unavailable);
  }
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("modules-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "commtune_broken.so") << "not a shared object";
  const char* const before = std::getenv("COMMTUNE_MODULE_PATH");
  const std::string kept = before == nullptr ? "" : before;
  setenv("COMMTUNE_MODULE_PATH", (folder.string() + ":" + kept).c_str(), 1);
  try {
    load_module("broken", "symbol");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unavailable);
    EXPECT_NE(std::string(error.what()).find("commtune_broken.so"), std::string::npos)
        << error.what();
  }
  setenv("COMMTUNE_MODULE_PATH", kept.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace commtune::test
