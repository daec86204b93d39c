#include "dnn_proxy/replay.hpp"

#include <algorithm>
#include <sstream>

#include "core/json.hpp"
#include "harness/record.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

using test::expect_contains;
using test::ProgramText;
using test::TemporaryFolder;

/// Buckets that overlap with compute, synchronous collectives between them, every data type that
/// matters, one collective of a single element.
Workload small_step() {
  ProgramText p;
  p.run(CommKind::barrier, 0).begin(4).compute(200'000, 50'000);
  p.run(CommKind::broadcast, 531).run(CommKind::broadcast, 53, DataType::int64, 0);
  p.start(CommKind::allreduce, 2049, 0).compute(300'000, 0).start(CommKind::allreduce, 7875, 1);
  p.run(CommKind::allgather, 77).compute(100'000, 0).start(CommKind::reduce_scatter, 65, 2);
  p.wait(0).wait(1).wait(2).run(CommKind::allreduce, 1, DataType::float64).end(4, 900'000);
  return p.workload(2);
}

ReplayOptions quick_options(int ranks) {
  ReplayOptions options;
  options.run.ranks = ranks;
  options.run.argv = {"commtune", "replay"};
  options.run.check = 2;
  options.steps = 3;
  return options;
}

Outcome run(const Workload& workload, const ReplayOptions& options, const std::string& transport,
            const std::filesystem::path& report) {
  LaunchOptions launch;
  launch.transport = transport;
  launch.ranks = options.run.ranks;
  return run_job(launch, [&](Job& job) {
    std::ostringstream out;
    const int status = replay(job, workload, options, out);
    if (job.rank() == 0) std::ofstream(report) << out.str();
    return status;
  });
}

class ReplayOnTransport : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(ReplayOnTransport, gives_exact_results_and_a_row_for_every_collective) {
  const auto& [transport, ranks] = GetParam();
  const TemporaryFolder folder;
  ReplayOptions options = quick_options(ranks);
  options.run.output = folder / "r.json";
  options.timeline = folder / "t.json";
  const Outcome outcome = run(small_step(), options, transport, folder / "out.txt");
  ASSERT_EQ(outcome.status, 0) << outcome.reason;

  const ResultDocument result = read_result(options.run.output);
  EXPECT_EQ(result.status, "ok");
  std::size_t collectives = 0, steps = 0;
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.ranks, ranks);
    EXPECT_EQ(row.check_wrong, 0U);
    EXPECT_EQ(std::count(row.flags.begin(), row.flags.end(), "few_samples"), 1);
    EXPECT_EQ(std::count(row.flags.begin(), row.flags.end(), "p99_is_max"), 1);
    ASSERT_TRUE(row.time.has_value());
    (row.test == "replay_step" ? steps : collectives) += 1;
    if (row.test == "replay_step") {
      EXPECT_EQ(row.time->samples, 3U);
    } else {
      EXPECT_EQ(row.check_iterations, 2U);
    }
  }
  EXPECT_EQ(collectives, 7U);
  EXPECT_EQ(steps, 1U);

  std::size_t bars = 0;
  for (const Json& event : parse_json(test::read_text(options.timeline), "t.json"))
    bars += event["ph"] == "X" && event["name"] == "step 4" ? 1U : 0U;
  EXPECT_EQ(bars, 3U * static_cast<std::size_t>(ranks));

  const std::string text = test::read_text(folder / "out.txt");
  expect_contains(text, "allreduce 2,049 float32, asynchronous");
  expect_contains(text, "broadcast 53 int64");
  expect_contains(text, "median");
  expect_contains(text, "0 wrong elements");
}

INSTANTIATE_TEST_SUITE_P(Local, ReplayOnTransport,
                         testing::Combine(testing::Values("threads", "shm"),
                                          testing::Values(1, 2, 3)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + std::to_string(std::get<1>(test.param));
                         });

TEST(Replay, of_communication_only_computes_nothing) {
  const TemporaryFolder folder;
  ReplayOptions options = quick_options(2);
  options.compute_scale = 0;
  options.run.output = folder / "r.json";
  ASSERT_EQ(run(small_step(), options, "threads", folder / "out.txt").status, 0);
  const auto rows = read_result(options.run.output).rows;
  EXPECT_EQ(rows.back().test, "replay_step");
  EXPECT_EQ(rows.back().params["compute_us"], 0.0);
}

TEST(Replay, of_rooted_collectives_gives_exact_results) {
  ProgramText p;
  p.begin(1).run(CommKind::reduce, 70, DataType::float32, 1).run(CommKind::gather, 30);
  p.run(CommKind::scatter, 50, DataType::int64, 1).end(1);
  const TemporaryFolder folder;
  ReplayOptions options = quick_options(3);
  options.run.output = folder / "r.json";
  const Outcome outcome = run(p.workload(2), options, "shm", folder / "out.txt");
  ASSERT_EQ(outcome.status, 0) << outcome.reason;
  const auto rows = read_result(options.run.output).rows;
  ASSERT_EQ(rows.size(), 4U);
  for (const Row& row : rows) EXPECT_EQ(row.check_wrong, 0U) << row.collective;
}

TEST(ReplayChoice, takes_parameters_where_the_collective_reads_them) {
  ProgramText p;
  p.begin(1).run(CommKind::allreduce, 70).run(CommKind::barrier, 0).end(1);
  const ReplayPlan plan = make_plan(p.workload(2), 0, {});
  const auto choices = choose_algorithms(plan, {"ring:segments=3"}, 2, {});
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].asked, "ring:segments=3");
  EXPECT_EQ(choices[0].used, "ring");
  EXPECT_EQ(choices[0].params.segments, 3U);
  EXPECT_EQ(choices[1].asked, "auto");  // barrier/ring has no segments
  expect_contains(test::error_of([&] { choose_algorithms(plan, {"direct:radix=0"}, 2, {}); }),
                  "radix");
  expect_contains(test::error_of([&] { choose_algorithms(plan, {"linear_sync"}, 2, {}); }),
                  "no collective of this workload has such an algorithm");
}

TEST(Replay, accounts_for_all_time_of_a_step) {
  const TemporaryFolder folder;
  const auto report = folder / "times.txt";
  LaunchOptions launch;
  launch.transport = "threads";
  launch.ranks = 2;
  const Workload workload = small_step();
  const Outcome outcome = run_job(launch, [&](Job& job) {
    const ReplayPlan plan = make_plan(workload, job.rank(), {});
    const auto choices = choose_algorithms(plan, {"auto"}, job.size(), {});
    ReplayEngine engine(job, plan, choices, nullptr);
    std::vector<CallSample> samples;
    std::vector<TimelineEvent> events;
    const StepTimes times = engine.run(plan.steps[0], samples, &events);
    const bool fine = times.compute > 0 && times.exposed >= 0 && times.overhead() >= 0 &&
                      times.step >= times.compute + times.exposed + times.issue + times.progress &&
                      samples.size() == 7 &&
                      times.actions == static_cast<std::int64_t>(plan.steps[0].actions.size());
    return fine ? 0 : 1;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST(ReplayCheck, finds_wrong_data) {
  LaunchOptions launch;
  launch.transport = "threads";
  launch.ranks = 2;
  ProgramText p;
  p.run(CommKind::allreduce, 100);
  const Workload workload = p.workload(2);
  const Outcome outcome = run_job(launch, [&](Job& job) {
    const ReplayPlan plan = make_plan(workload, job.rank(), {});
    const auto choices = choose_algorithms(plan, {"auto"}, job.size(), {});
    ReplayEngine engine(job, plan, choices, nullptr);
    // Rank 1 contributes data of another seed, as a corrupted input would.
    engine.check(plan.steps[0], job.rank() == 0 ? 1 : 2);
    return engine.checks()[0].checked == 100 && engine.checks()[0].wrong > 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST(LoadWorkload, refuses_models_and_what_is_not_there) {
  expect_contains(test::error_of([] { load_workload("model:resnet50"); }), "model:resnet50");
  expect_contains(test::error_of([] { load_workload("/nonexistent/x.json"); }), "/nonexistent/x");
}

TEST(LoadWorkload, takes_a_workload_file_or_a_trace) {
  const TemporaryFolder folder;
  write_workload(folder / "w.jsonl", small_step());
  EXPECT_EQ(load_workload((folder / "w.jsonl").string()), small_step());
}

}  // namespace
}  // namespace commtune
