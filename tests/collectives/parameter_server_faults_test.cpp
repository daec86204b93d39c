// Parameter servers in awkward orders, and what faults make of them.
#include <atomic>
#include <sched.h>

#include "tests/collectives/parameter_work.hpp"
#include "transports/faulty.hpp"

namespace commtune::test {
namespace {

/// Two pushes in a row: the second waits at the server for the other worker's first.
TEST(ParameterServer, keeps_a_fast_worker_s_next_step_apart) {
  // Ranks are threads: they tell each other what the transport is not used for.
  std::atomic<bool> pushed_twice{false};
  expect_job("threads", 3, [&](Job& job) {
    const ParameterPlan plan{.servers = 1, .count = 9};
    if (job.rank() == 0) return ParameterServer(job.transport, plan).run();
    Work work(job.transport, plan);
    if (job.rank() == 1) {
      std::ranges::fill(work.gradient, 1.0F);
      work.worker.push().run();
      work.worker.push().start();
      work.worker.pull().start();
      for (int i = 0; i < 1000; ++i) {  // the server's chance to add what is not yet to be added
        work.worker.push().progress();
        sched_yield();
      }
      pushed_twice = true;
      while (!work.worker.push().progress() || !work.worker.pull().progress()) sched_yield();
      if (work.parameters != std::vector<float>(9, 22)) fail(Errc::wrong_result, "not two steps");
    } else {
      std::ranges::fill(work.gradient, 10.0F);
      while (!pushed_twice) sched_yield();
      work.worker.exchange();
      if (work.parameters != std::vector<float>(9, 11)) fail(Errc::wrong_result, "not one step");
      work.worker.exchange();
    }
    work.worker.stop().run();
  });
}

/// A pull is answered and not yet received; of two pushes after it only the first has memory to be
/// added in, which no answer is read from.
TEST(ParameterServer, leaves_a_version_alone_while_an_answer_is_read_from_it) {
  std::atomic<bool> pulled{false}, pushed{false}, both_added{false};
  expect_job("threads", 3, [&](Job& job) {
    const ParameterPlan plan{.servers = 1, .count = 50'000, .mode = UpdateMode::asynchronous};
    if (job.rank() == 0) return ParameterServer(job.transport, plan).run();
    Work work(job.transport, plan);
    if (job.rank() == 1) {
      work.worker.pull().start();
      pulled = true;
      while (!pushed) sched_yield();
      while (!work.worker.pull().progress()) sched_yield();
      const std::uint64_t version = work.worker.versions()[0];
      if (version == 0 && both_added) fail(Errc::wrong_result, "added while an answer was read");
      if (work.parameters != std::vector<float>(plan.count, static_cast<float>(version))) {
        fail(Errc::wrong_result, "not of one moment");
      }
    } else {
      std::ranges::fill(work.gradient, 1.0F);
      while (!pulled) sched_yield();
      work.worker.push().run();
      work.worker.push().start();
      for (int i = 0; i < 1000 && !both_added; ++i) {
        both_added = work.worker.push().progress();
        sched_yield();
      }
      pushed = true;
      while (!work.worker.push().progress()) sched_yield();
    }
    work.worker.stop().run();
  });
}

/// Synchronous steps of one server and two workers; the transport of `rank` has the fault. For
/// transports whose ranks are processes: a rank that fails frees what others may still read.
Outcome run_with(const std::string& transport, Rank rank, const Fault& fault) {
  LaunchOptions options;
  options.transport = transport;
  options.ranks = 3;
  options.timeout_s = 10;
  return run_job(options, [&](Job& job) {
    FaultyTransport faulty(job.transport, fault);
    Job seen{job.bootstrap, job.rank() == rank ? faulty : job.transport, job.monitor, {}};
    job.monitor.describe("ps/push-pull", 4000);
    run_synchronous(seen, {.servers = 1, .count = 1000});
    job.bootstrap.barrier();
    return 0;
  });
}

TEST(FaultyParameterServer, delays_change_nothing) {
  for (const Rank rank : {0, 1}) {
    const Outcome outcome = run_with("shm", rank, {FaultKind::delay, 0, 3});
    EXPECT_EQ(outcome.status, 0) << outcome.reason;
  }
}

TEST(FaultyParameterServer, corrupted_data_is_found_by_the_check) {
  // Sends 1, 3, ... of the server are shards; send 1 of a worker is its first gradient.
  for (const auto& [rank, send] : {std::pair{0, 1U}, {0, 3U}, {0, 7U}, {1, 1U}, {2, 1U}}) {
    const Outcome outcome = run_with("shm", rank, {FaultKind::corrupt, send, send + 1});
    EXPECT_EQ(outcome.status, exit_measured_failure) << outcome.reason;
    EXPECT_NE(outcome.reason.find(" is wrong: "), std::string::npos) << outcome.reason;
  }
}

TEST(FaultyParameterServer, corrupted_headers_are_refused_by_who_gets_them) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const Outcome worker = run_with("shm", 1, {FaultKind::corrupt, 0, seed});
    EXPECT_EQ(worker.status, exit_rank_lost);
    EXPECT_EQ(worker.reason.rfind("rank 0: worker 1 sent server 0 a request of kind ", 0), 0U)
        << worker.reason;
    const Outcome server = run_with("shm", 0, {FaultKind::corrupt, 0, seed});
    EXPECT_EQ(server.status, exit_rank_lost);
    EXPECT_NE(server.reason.find(": server 0 sent worker "), std::string::npos) << server.reason;
  }
}

TEST(FaultyParameterServer, a_server_or_worker_killed_in_the_middle_is_named) {
  for (const std::string transport : {"shm", "ucx", "grpc"}) {
    if (const std::string missing = transport_missing(transport); !missing.empty()) {
      std::printf("not run: %s\n", missing.c_str());
      continue;
    }
    for (const auto& [rank, send] : {std::pair{0, 3U}, {0, 0U}, {2, 4U}}) {
      const Outcome outcome = run_with(transport, rank, {FaultKind::die, send, 1});
      EXPECT_EQ(outcome.status, exit_rank_lost);
      EXPECT_EQ(outcome.reason.rfind(fmt::format("rank {} was killed by signal 9", rank), 0), 0U)
          << transport << ": " << outcome.reason;
    }
  }
}

}  // namespace
}  // namespace commtune::test
