#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <sstream>
#include <unistd.h>

#include "core/error.hpp"
#include "core/json.hpp"
#include "harness/record.hpp"
#include "microbench/session.hpp"

namespace commtune {
namespace {

class Timeline : public testing::Test {
 protected:
  ~Timeline() override {
    for (const auto& path : {result_, samples_, timeline_}) std::filesystem::remove(path);
  }
  static std::filesystem::path file(const char* what) {
    return std::filesystem::temp_directory_path() / fmt::format("commtune-{}-{}", what, getpid());
  }

  /// Runs allreduce and latency of 8 bytes and fills rows and lines.
  void run(int ranks, std::uint64_t iterations) {
    BenchPlan plan;
    plan.benchmarks = {&find_benchmark("allreduce", "test")};
    if (ranks > 1) plan.benchmarks.push_back(&find_benchmark("latency", "test"));
    plan.options.sampling.iterations = iterations;
    plan.options.sampling.warmup = 1;
    plan.options.sizes = {8};
    plan.options.algorithms = {"ring"};
    plan.options.output = result_;
    plan.options.samples = samples_;
    plan.timeline = timeline_;
    LaunchOptions launch;
    launch.ranks = ranks;
    const Outcome outcome = run_job(launch, [&plan](Job& job) {
      std::ostringstream out;
      return run_benchmarks(job, plan, out);
    });
    ASSERT_EQ(outcome.status, 0) << outcome.reason;
    rows_ = read_result(result_).rows;
    std::ifstream in(samples_);
    for (std::string line; std::getline(in, line);) lines_.push_back(parse_json(line, "samples"));
    ASSERT_EQ(rows_.size(), plan.benchmarks.size());
    ASSERT_EQ(lines_.size(), rows_.size());
    events_ = read_json(timeline_);
  }

  std::filesystem::path result_ = file("result"), samples_ = file("samples"),
                        timeline_ = file("timeline");
  std::vector<Row> rows_;
  std::vector<Json> lines_;
  Json events_;
};

class Iterations : public Timeline, public testing::WithParamInterface<int> {};

TEST_P(Iterations, say_when_ranks_came_and_went_and_which_was_last) {
  const int ranks = GetParam();
  run(ranks, 50);
  const Json& line = lines_[0];
  ASSERT_EQ(line["samples_us"].size(), 50U);
  std::map<int, int> last_in, last_out;
  std::int64_t earlier = -1;
  for (std::size_t i = 0; i < 50; ++i) {
    const auto at = [&](const char* key) { return line[key].at(i).get<std::int64_t>(); };
    EXPECT_GT(at("first_in_ns"), earlier);
    earlier = at("first_in_ns");
    EXPECT_GE(at("last_in_ns"), 0);
    EXPECT_EQ(line["samples_us"][i],
              static_cast<double>(at("last_out_ns") - at("last_in_ns")) * 1e-3);
    ++last_in[static_cast<int>(at("last_in_rank"))];
    ++last_out[static_cast<int>(at("last_out_rank"))];
  }
  EXPECT_EQ(line["first_in_ns"][0], 0);
  EXPECT_EQ(rows_[0].clock_error_us, 0.0);
  EXPECT_EQ(rows_[0].straggler.has_value(), ranks > 1);
  if (!rows_[0].straggler) return;
  const auto expect_latest = [](const Straggler& straggler, const std::map<int, int>& times) {
    const auto most =
        std::max_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_EQ(straggler.rank, most->first);
    EXPECT_EQ(straggler.share, most->second / 50.0);
    EXPECT_FALSE(straggler.host.empty());
  };
  expect_latest(rows_[0].straggler->last_in, last_in);
  expect_latest(rows_[0].straggler->last_out, last_out);
}

TEST_P(Iterations, are_bars_of_the_timeline_that_give_the_samples_again) {
  const int ranks = GetParam();
  run(ranks, 50);
  const auto ns = [](const Json& us) { return std::llround(us.get<double>() * 1e3); };
  std::vector<std::int64_t> first_in(50, INT64_MAX), last_in(50, INT64_MIN),
      last_out(50, INT64_MIN);
  std::size_t bars = 0;
  for (const Json& event : events_) {
    if (event["ph"] != "X") continue;
    ++bars;
    EXPECT_EQ(event["name"], "allreduce/ring/8");
    EXPECT_EQ(event["args"]["bytes"], 8);
    const std::size_t i = event["args"]["sample"];
    ASSERT_LT(i, 50U);
    const std::int64_t in = ns(event["ts"]), out = in + ns(event["dur"]);
    first_in[i] = std::min(first_in[i], in);
    last_in[i] = std::max(last_in[i], in);
    last_out[i] = std::max(last_out[i], out);
  }
  EXPECT_EQ(bars, 50U * static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(first_in[i] - first_in[0], lines_[0]["first_in_ns"][i]);
    EXPECT_EQ(last_in[i] - first_in[i], lines_[0]["last_in_ns"][i]);
    EXPECT_EQ(last_out[i] - first_in[i], lines_[0]["last_out_ns"][i]);
  }
}

INSTANTIATE_TEST_SUITE_P(OfRanks, Iterations, testing::Values(1, 2, 3));

TEST_F(Timeline, holds_the_first_thousand_iterations_of_a_row_and_says_so) {
  run(2, 1500);
  std::size_t bars = 0;
  std::string notes;
  for (const Json& event : events_) {
    bars += event["ph"] == "X" ? 1U : 0U;
    if (event["name"] == "note") notes += event["args"]["name"].get<std::string>() + "\n";
  }
  EXPECT_EQ(bars, 2000U);
  EXPECT_EQ(notes,
            "at most the first 1000 iterations of a row\n"
            "allreduce/ring/8: the first 1000 of 1500 iterations\n");
}

TEST_F(Timeline, and_stragglers_are_of_collectives_only) {
  run(2, 5);
  EXPECT_EQ(rows_[1].test, "latency");
  EXPECT_FALSE(rows_[1].straggler.has_value());
  EXPECT_FALSE(rows_[1].clock_error_us.has_value());
  EXPECT_FALSE(lines_[1].contains("first_in_ns"));
  for (const Json& event : events_) {
    EXPECT_EQ(event["name"].get<std::string>().find("latency"), std::string::npos);
  }
}

}  // namespace
}  // namespace commtune
