#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "core/error.hpp"
#include "harness/record.hpp"
#include "microbench/session.hpp"
#include "transports/faulty.hpp"

namespace commtune {
namespace {

class PsTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }

  BenchPlan plan(int servers, bool asynchronous) const {
    BenchPlan plan;
    plan.benchmarks.push_back(&find_benchmark("ps", "test"));
    plan.options.sampling.iterations = 3;
    plan.options.sampling.warmup = 1;
    plan.options.sizes = {4, 4004};
    plan.options.check = 2;
    plan.options.servers = servers;
    plan.options.asynchronous = asynchronous;
    plan.options.output = file_;
    return plan;
  }
  Outcome run(const std::string& transport, int ranks, const BenchPlan& plan,
              const Fault* fault = nullptr) const {
    LaunchOptions launch;
    launch.transport = transport;
    launch.ranks = ranks;
    launch.timeout_s = 30;
    return run_job(launch, [&](Job& job) {
      std::ostringstream out;
      if (fault == nullptr || job.rank() != 0) return run_benchmarks(job, plan, out);
      FaultyTransport faulty(job.transport, *fault);
      Job seen{job.bootstrap, faulty, job.monitor, {}};
      return run_benchmarks(seen, plan, out);
    });
  }

  const std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / fmt::format("commtune-ps-test-{}", getpid());
};

TEST_F(PsTest, rows_tell_servers_workers_mode_and_bytes_and_no_element_is_wrong) {
  for (const std::string transport : {"shm", "threads"}) {
    for (const int servers : {1, 2, 3}) {
      for (const int workers : {1, 2, 5}) {
        for (const bool asynchronous : {false, true}) {
          const int ranks = servers + workers;
          const Outcome outcome = run(transport, ranks, plan(servers, asynchronous));
          ASSERT_EQ(outcome.status, 0) << outcome.reason;
          const ResultDocument result = read_result(file_);
          ASSERT_EQ(result.rows.size(), 2U);
          for (const Row& row : result.rows) {
            EXPECT_EQ(row.status, "ok") << row.reason;
            EXPECT_EQ(row.params.at("servers"), servers);
            EXPECT_EQ(row.params.at("workers"), workers);
            EXPECT_EQ(row.params.at("mode"), asynchronous ? "asynchronous" : "synchronous");
            EXPECT_EQ(row.bytes_total, 2 * static_cast<unsigned>(workers) * row.bytes_per_rank);
            EXPECT_EQ(*row.algbw_gbs,
                      static_cast<double>(row.bytes_total) / (row.time->median * 1e3));
            EXPECT_FALSE(row.busbw_gbs);
            EXPECT_TRUE(row.entry_skew_us);
            EXPECT_EQ(row.check_iterations, 2U);
            EXPECT_EQ(row.check_wrong, 0U);
          }
        }
      }
    }
  }
}

TEST_F(PsTest, takes_every_data_type_cold_caches_and_private_memory) {
  for (const DataType type : all_data_types()) {
    BenchPlan changed = plan(2, false);
    changed.options.dtype = type;
    changed.options.cold = true;
    changed.options.buffers = {BufferKind::registered, BufferKind::private_memory};
    changed.options.sizes = {4000};
    const Outcome outcome = run("shm", 4, changed);
    ASSERT_EQ(outcome.status, 0) << name(type) << ": " << outcome.reason;
    const ResultDocument result = read_result(file_);
    ASSERT_EQ(result.rows.size(), 2U);
    for (const Row& row : result.rows) {
      EXPECT_EQ(row.status, "ok") << row.reason;
      EXPECT_EQ(row.dtype, name(type));
      EXPECT_EQ(row.buffers, "cold");
      EXPECT_EQ(row.check_wrong, 0U);
    }
  }
}

TEST_F(PsTest, is_skipped_with_the_reason_where_no_rank_is_left_to_work) {
  ASSERT_EQ(run("threads", 3, plan(3, false)).status, 0);
  const ResultDocument result = read_result(file_);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].status, "skipped");
  EXPECT_EQ(result.rows[0].reason, "with --servers 3 it needs 4 ranks, so that one is a worker");
}

TEST_F(PsTest, wrong_parameters_are_found_by_the_check) {
  BenchPlan one = plan(1, false);
  one.options.sizes = {4004};
  one.options.check = 40;
  // By then the server only answers pulls of checked steps, with a header and a shard in turn.
  constexpr std::uint64_t late = 60;
  int headers = 0, shards = 0;
  for (const std::uint64_t send : {late, late + 1}) {
    const Fault fault{FaultKind::corrupt, send, 1};
    const Outcome outcome = run("shm", 2, one, &fault);
    if (outcome.status == exit_rank_lost) ++headers;
    if (outcome.status != exit_measured_failure) continue;
    ++shards;
    const ResultDocument result = read_result(file_);
    ASSERT_EQ(result.rows.size(), 1U);
    EXPECT_EQ(result.rows[0].status, "failed");
    EXPECT_EQ(result.rows[0].check_wrong, 1U);
    EXPECT_EQ(result.rows[0].reason.rfind("wrong data: 1 elements; first: rank 1, iteration ", 0),
              0U)
        << result.rows[0].reason;
  }
  EXPECT_EQ(headers, 1);
  EXPECT_EQ(shards, 1);
}

}  // namespace
}  // namespace commtune
