// What a collective makes of a transport that does something wrong.
#include "transports/faulty.hpp"

#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

/// An allreduce of `ranks` ranks in which rank 1's transport has the fault.
Outcome run_with(const std::string& transport, const Fault& fault, const char* algorithm,
                 std::uint64_t count = 5000) {
  LaunchOptions options;
  options.transport = transport;
  options.ranks = 3;
  options.timeout_s = 2;
  return run_job(options, [&](Job& job) {
    FaultyTransport faulty(job.transport, fault);
    Transport& used = job.rank() == 1 ? faulty : job.transport;
    CallBuffers buffers(used, {.count = count, .type = DataType::int32});
    const auto operation = prepare(used, find_algorithm(Collective::allreduce, algorithm, "test"),
                                   {}, buffers.call, {});
    Job seen{job.bootstrap, used, job.monitor, {}};
    job.monitor.describe(algorithm, count);
    run_and_check(seen, buffers, *operation, "faulty", 1);
    return 0;
  });
}

TEST(FaultyTransport, that_delays_changes_nothing) {
  for (const char* algorithm : {"ring", "recursive_doubling", "direct"}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const Outcome outcome = run_with("shm", {FaultKind::delay, 0, seed}, algorithm);
      EXPECT_EQ(outcome.status, 0) << algorithm << ": " << outcome.reason;
    }
  }
}

TEST(FaultyTransport, that_corrupts_any_message_is_found_by_the_check) {
  for (const std::string transport : {"shm", "threads"}) {
    for (const std::uint64_t send : {0U, 1U, 2U, 3U}) {
      const Outcome outcome = run_with(transport, {FaultKind::corrupt, send, send + 1}, "ring");
      EXPECT_EQ(outcome.status, exit_measured_failure) << outcome.reason;
      EXPECT_NE(outcome.reason.find("wrong"), std::string::npos) << outcome.reason;
    }
  }
}

TEST(FaultyTransport, that_truncates_is_found_by_the_receiver) {
  const Outcome outcome = run_with("shm", {FaultKind::truncate, 1, 1}, "ring");
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason.rfind("rank 2: rank 1 sent ", 0), 0U) << outcome.reason;
}

TEST(FaultyTransport, that_drops_ends_with_the_operation_named) {
  const Outcome outcome = run_with("shm", {FaultKind::drop, 3, 1}, "ring");
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason.rfind("no progress for 2 s: ", 0), 0U) << outcome.reason;
  EXPECT_NE(outcome.reason.find("of ring, 5000 bytes"), std::string::npos) << outcome.reason;
}

TEST(FaultyTransport, that_dies_ends_with_the_rank_named) {
  const Outcome outcome = run_with("shm", {FaultKind::die, 2, 1}, "ring");
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(outcome.reason.rfind("rank 1 was killed by signal 9", 0), 0U) << outcome.reason;
}

}  // namespace
}  // namespace commtune::test
