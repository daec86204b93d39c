#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

/// Outcome of a job of `ranks` threads in which `odd` asks for `different` and the others for
/// `call`.
Outcome disagree(int ranks, Rank odd, const Call& call, const Call& different) {
  LaunchOptions options;
  options.transport = "threads";
  options.ranks = ranks;
  return run_job(options, [&](Job& job) {
    agree(job.bootstrap, job.rank() == odd ? different : call, "ring");
    return 0;
  });
}

TEST(Agreement, names_the_rank_with_another_count) {
  const Outcome outcome = disagree(4, 3, {.count = 100}, {.count = 102});
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_NE(outcome.reason.find("rank 3 asks for"), std::string::npos) << outcome.reason;
  EXPECT_NE(outcome.reason.find("102 float32 elements"), std::string::npos) << outcome.reason;
}

TEST(Agreement, names_the_rank_with_another_type_operator_or_root) {
  for (const Call& different :
       {Call{.count = 100, .type = DataType::float64}, Call{.count = 100, .op = ReduceOp::max},
        Call{.count = 100, .root = 1}, Call{.count = 100, .in_place = true}}) {
    const Outcome outcome = disagree(3, 1, {.count = 100}, different);
    EXPECT_EQ(outcome.status, exit_usage);
    EXPECT_NE(outcome.reason.find("rank 1 asks for"), std::string::npos) << outcome.reason;
  }
}

TEST(Agreement, lets_equal_calls_pass) {
  EXPECT_EQ(disagree(5, 2, {.count = 7}, {.count = 7}).status, 0);
}

}  // namespace
}  // namespace commtune::test
