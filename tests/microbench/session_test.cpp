#include "microbench/session.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <tuple>
#include <unistd.h>

#include "core/error.hpp"
#include "harness/record.hpp"

namespace commtune {
namespace {

/// A file name of this test that is removed afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("commtune-test-{}-{}", getpid(), name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

BenchPlan plan_for(const std::vector<std::string>& tests, const std::filesystem::path& output) {
  BenchPlan plan;
  for (const std::string& test : tests) plan.benchmarks.push_back(&find_benchmark(test, "test"));
  plan.options.sampling.iterations = 3;
  plan.options.sampling.warmup = 1;
  plan.options.sizes = {4, 100};
  plan.options.output = output;
  return plan;
}

Outcome run_plan(const std::string& transport, int ranks,
                 const std::function<BenchPlan(Rank)>& plan_of) {
  LaunchOptions launch;
  launch.transport = transport;
  launch.ranks = ranks;
  launch.timeout_s = 30;
  return run_job(launch, [&](Job& job) {
    std::ostringstream out;
    return run_benchmarks(job, plan_of(job.rank()), out);
  });
}

class Session : public testing::TestWithParam<std::tuple<std::string, int>> {};

std::vector<std::string> every_collective() {
  std::vector<std::string> names;
  for (const Collective collective : all_collectives()) names.emplace_back(name(collective));
  return names;
}

/// Why no rank count of the job suits the algorithm of a row; empty when it must have run.
std::string expected_refusal(const Row& row) {
  const Algorithm& algorithm =
      find_algorithm(parse_collective(row.collective, "row"), row.algorithm_used, row.test);
  return refusal(algorithm, Shape{.size = row.ranks}, Params{});
}

TEST_P(Session, runs_every_collective_with_every_algorithm_and_finds_no_wrong_element) {
  const auto& [transport, ranks] = GetParam();
  const TemporaryFile file(fmt::format("{}-{}.json", transport, ranks));
  const Outcome outcome = run_plan(transport, ranks, [&file](Rank) {
    BenchPlan plan = plan_for(every_collective(), file.path());
    plan.options.algorithms = {"all"};
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  const ResultDocument result = read_result(file.path());
  EXPECT_EQ(result.status, "ok");
  std::size_t expected = 0;
  for (const Algorithm* algorithm : algorithms()) {
    expected += algorithm->collective == Collective::barrier ? 1 : 2;
  }
  ASSERT_EQ(result.rows.size(), expected);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.ranks, ranks);
    if (const std::string refused = expected_refusal(row); !refused.empty()) {
      EXPECT_EQ(row.status, "skipped");
      EXPECT_EQ(row.reason, refused);
      continue;
    }
    EXPECT_EQ(row.status, "ok") << row.collective << "/" << row.algorithm_used << row.reason;
    EXPECT_EQ(row.check_wrong, 0U);
    EXPECT_EQ(row.bytes_off_node, 0U);
    ASSERT_TRUE(row.time.has_value());
    EXPECT_EQ(row.time->samples, 3U);
    const auto factor = bus_factor(parse_collective(row.collective, "row"), ranks);
    EXPECT_EQ(row.busbw_gbs.has_value(), factor && row.collective != "barrier") << row.collective;
  }
}

TEST_P(Session, in_place_cold_and_rotating_roots_give_right_data) {
  const auto& [transport, ranks] = GetParam();
  const TemporaryFile file(fmt::format("cold-{}-{}.json", transport, ranks));
  const Outcome outcome = run_plan(transport, ranks, [&file](Rank) {
    BenchPlan plan =
        plan_for({"allreduce", "broadcast", "allgather", "reduce_scatter"}, file.path());
    plan.options.sizes = {4096};
    plan.options.in_place = true;
    plan.options.cold = true;
    plan.options.rotate_root = true;
    plan.options.check = 7;
    plan.options.algorithms = {"all"};
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  for (const Row& row : read_result(file.path()).rows) {
    EXPECT_TRUE(row.in_place);
    EXPECT_EQ(row.buffers, "cold");
    if (!expected_refusal(row).empty()) continue;
    EXPECT_EQ(row.status, "ok") << row.collective << "/" << row.algorithm_used << row.reason;
    EXPECT_EQ(row.check_iterations, 7U);
    EXPECT_FALSE(row.root.has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Local, Session,
                         testing::Combine(testing::Values("threads", "shm"),
                                          testing::Values(1, 2, 3, 5)));

TEST(PointToPoint, latency_and_bandwidth_report_their_definitions) {
  const TemporaryFile file("p2p.json");
  const Outcome outcome = run_plan("shm", 3, [&file](Rank) {
    BenchPlan plan = plan_for({"latency", "bandwidth"}, file.path());
    plan.options.sizes = {0, 1, 100, 100000};
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  const ResultDocument result = read_result(file.path());
  ASSERT_EQ(result.rows.size(), 8U);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.status, "ok") << row.reason;
    EXPECT_EQ(row.check_wrong, 0U);
    EXPECT_EQ(row.bytes_total, row.bytes_per_rank * (row.test == "bandwidth" ? 64 : 1));
    ASSERT_TRUE(row.time.has_value());
    EXPECT_FALSE(row.entry_skew_us.has_value());
    EXPECT_EQ(row.busbw_gbs, row.algbw_gbs);
    EXPECT_EQ(row.check_max_ulp, 0.0);
    if (row.bytes_total == 0) {
      EXPECT_FALSE(row.algbw_gbs.has_value());
    } else {
      EXPECT_EQ(row.algbw_gbs.value_or(0),
                static_cast<double>(row.bytes_total) / (row.time->median * 1e3));
    }
  }
}

TEST(Sizes, are_rounded_down_to_whole_elements_and_those_without_one_are_skipped) {
  const TemporaryFile file("sizes.json");
  const Outcome outcome = run_plan("threads", 2, [&file](Rank) {
    BenchPlan plan = plan_for({"allreduce"}, file.path());
    plan.options.sizes = {3, 11};
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  const auto rows = read_result(file.path()).rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].status, "skipped");
  EXPECT_EQ(rows[0].bytes_asked, 3U);
  EXPECT_EQ(rows[1].status, "ok");
  EXPECT_EQ(rows[1].bytes_asked, 11U);
  EXPECT_EQ(rows[1].bytes_per_rank, 8U);
  EXPECT_EQ(rows[1].count, 2U);
}

TEST(Sizes, of_zero_bytes_run_every_collective_and_have_no_bandwidth) {
  for (const int ranks : {1, 3}) {
    const TemporaryFile file(fmt::format("zero-{}.json", ranks));
    const Outcome outcome = run_plan("shm", ranks, [&file](Rank) {
      BenchPlan plan =
          plan_for({"allreduce", "broadcast", "allgather", "reduce_scatter"}, file.path());
      plan.options.sizes = {0};
      plan.options.algorithms = {"auto", "all"};
      return plan;
    });
    ASSERT_EQ(outcome.status, 0) << outcome.reason;
    const auto rows = read_result(file.path()).rows;
    ASSERT_GE(rows.size(), 8U);
    for (const Row& row : rows) {
      if (!expected_refusal(row).empty()) continue;
      EXPECT_EQ(row.status, "ok") << row.collective << "/" << row.algorithm_used << row.reason;
      EXPECT_EQ(row.count, 0U);
      EXPECT_EQ(row.bytes_asked, 0U);
      EXPECT_TRUE(row.time.has_value());
      EXPECT_FALSE(row.algbw_gbs.has_value());
      EXPECT_FALSE(row.busbw_gbs.has_value());
    }
  }
}

TEST(Sizes, beyond_the_memory_are_skipped_with_the_reason) {
  const TemporaryFile file("memory.json");
  const Outcome outcome = run_plan("shm", 2, [&file](Rank) {
    BenchPlan plan = plan_for({"allgather", "latency"}, file.path());
    plan.options.sizes = {std::uint64_t{1} << 48};
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  const auto rows = read_result(file.path()).rows;
  ASSERT_EQ(rows.size(), 2U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.status, "skipped");
    EXPECT_EQ(row.reason.rfind("memory: rank 0 needs", 0), 0U) << row.reason;
  }
}

/// Every rank keeps its own input: right for nothing but one rank.
Schedule copy_only(const Shape& shape, const Params&) {
  ScheduleBuilder builder(Collective::allreduce, shape, 1);
  builder.copy(in(0), out(0));
  return std::move(builder).finish();
}
const Algorithm broken{Collective::allreduce,        "broken", copy_only, "",
                       "copies instead of reducing", ""};

TEST(Check, wrong_data_fails_the_row_and_names_rank_element_and_values) {
  const TemporaryFile file("wrong.json");
  const Outcome outcome = run_plan("shm", 3, [&file](Rank) {
    BenchPlan plan = plan_for({"allreduce"}, file.path());
    plan.select = [](Collective, Rank, std::uint64_t, DataType) {
      return Selection{&broken, Params{}, "test"};
    };
    plan.prove = false;
    return plan;
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  const ResultDocument result = read_result(file.path());
  EXPECT_EQ(result.status, "failed");
  ASSERT_EQ(result.rows.size(), 2U);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.status, "failed");
    EXPECT_GT(row.check_wrong, 0U);
    EXPECT_GT(row.check_max_ulp.value_or(0), 0.0);
    EXPECT_NE(row.reason.find("first: rank 0, iteration 0, element 0: got "), std::string::npos)
        << row.reason;
    EXPECT_NE(row.reason.find("expected"), std::string::npos);
  }
}

TEST(Proof, a_wrong_schedule_is_not_run) {
  const TemporaryFile file("wrong_schedule.json");
  const Outcome outcome = run_plan("threads", 3, [&file](Rank) {
    BenchPlan plan = plan_for({"allreduce"}, file.path());
    plan.select = [](Collective, Rank, std::uint64_t, DataType) {
      return Selection{&broken, Params{}, "test"};
    };
    return plan;
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  for (const Row& row : read_result(file.path()).rows) {
    EXPECT_EQ(row.status, "failed");
    EXPECT_FALSE(row.time);
    EXPECT_NE(row.reason.find("not run, its schedule is wrong: "), std::string::npos) << row.reason;
  }
}

/// Right with one channel only.
Schedule right_with_one_channel(const Shape& shape, const Params& params) {
  if (params.channels != 1) return copy_only(shape, params);
  return find_algorithm(Collective::allreduce, "ring", "test").generate(shape, params);
}
const Algorithm fragile{Collective::allreduce,         "fragile",
                        right_with_one_channel,        "channels",
                        "wrong with several channels", ""};

TEST(Proof, is_of_the_parameters_that_run) {
  const TemporaryFile file("parameters.json");
  const Outcome outcome = run_plan("threads", 3, [&file](Rank) {
    BenchPlan plan = plan_for({"allreduce"}, file.path());
    plan.options.sizes = {4, 100, 200};
    plan.select = [](Collective, Rank, std::uint64_t bytes, DataType) {
      return Selection{&fragile, Params{.channels = bytes == 100 ? 2U : 1U}, "test"};
    };
    return plan;
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  const auto rows = read_result(file.path()).rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].status, "ok") << rows[0].reason;
  EXPECT_EQ(rows[1].status, "failed");
  EXPECT_EQ(rows[2].status, "ok") << rows[2].reason;
}

TEST(Agreement, different_options_stop_every_rank_before_a_transfer) {
  const TemporaryFile file("disagree.json");
  const Outcome outcome = run_plan("shm", 3, [&file](Rank rank) {
    BenchPlan plan = plan_for({"allreduce"}, file.path());
    if (rank == 2) plan.options.sizes = {4, 104};
    return plan;
  });
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_NE(outcome.reason.find("rank 2 has --sizes [4,104], rank 0 has [4,100]"),
            std::string::npos)
      << outcome.reason;
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(Samples, hold_every_sample_of_every_row) {
  const TemporaryFile file("rows.json"), samples("samples.jsonl");
  const Outcome outcome = run_plan("threads", 2, [&](Rank) {
    BenchPlan plan = plan_for({"allreduce", "latency"}, file.path());
    plan.options.samples = samples.path();
    return plan;
  });
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  std::ifstream lines(samples.path());
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) {
    const Json value = parse_json(line, "samples");
    EXPECT_EQ(value.at("samples_us").size(), 3U);
    ++count;
  }
  EXPECT_EQ(count, 4U);
}

}  // namespace
}  // namespace commtune
