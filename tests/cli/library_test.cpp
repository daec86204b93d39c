#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/record.hpp"
#include "program.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

ProcessResult bench_gloo(const std::string& file) {
  return commtune_program({"bench", "allreduce", "-n", "3", "--sizes", "4,1000", "--algorithm",
                           "gloo,gloo/bcube,ring", "--iterations", "3", "-o", file});
}

TEST(Libraries, gloo_runs_beside_our_algorithms) {
  if (find_module("library_gloo").empty()) {
    GTEST_SKIP() << "commtune_library_gloo.so is not in this build: Gloo was not found";
  }
  const TemporaryFolder folder;
  const ProcessResult run = bench_gloo(folder.file("r.json"));
  ASSERT_EQ(run.status, exit_ok) << run.err;
  const ResultDocument result = read_result(folder.file("r.json"));
  ASSERT_EQ(result.rows.size(), 6U);
  for (const Row& row : result.rows) EXPECT_EQ(row.status, "ok") << row.reason;
  EXPECT_EQ(result.rows[0].library, "gloo");
  EXPECT_EQ(result.rows[0].algorithm_used, "ring");
  EXPECT_EQ(result.rows[1].algorithm_used, "bcube");
  EXPECT_EQ(result.rows[2].library, "");
  EXPECT_EQ(result.run.at("libraries").at("gloo").at("name"), "gloo");
}

TEST(Libraries, a_library_that_is_not_in_this_build_is_unavailable) {
  if (!find_module("library_gloo").empty()) GTEST_SKIP() << "this build has Gloo";
  const TemporaryFolder folder;
  const ProcessResult run = bench_gloo(folder.file("r.json"));
  EXPECT_EQ(run.status, exit_unavailable);
  EXPECT_NE(run.err.find("commtune_library_gloo.so"), std::string::npos) << run.err;
}

TEST(Libraries, the_bound_of_an_allreduce_is_a_checked_row_at_any_number_of_ranks) {
  const TemporaryFolder folder;
  for (const char* const ranks : {"1", "2", "3"}) {
    const std::string file = folder.file(ranks);
    const ProcessResult run =
        commtune_program({"bench", "bound", "-n", ranks, "--sizes", "0,8,56,60,1000,256K",
                          "--iterations", "3", "-o", file});
    ASSERT_EQ(run.status, exit_ok) << run.err;
    const auto rows = read_result(file).rows;
    ASSERT_EQ(rows.size(), 7U);  // the largest size with both kinds of stores
    for (const Row& row : rows) {
      EXPECT_EQ(row.status, "ok") << row.reason;
      EXPECT_EQ(row.algorithm_used, "one-pass");
      EXPECT_EQ(row.check_wrong, 0U);
    }
  }
}

}  // namespace
}  // namespace commtune
