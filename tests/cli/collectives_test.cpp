#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "core/types.hpp"
#include "harness/record.hpp"
#include "program.hpp"

namespace commtune {
namespace {

/// Every test of a collective, as the program itself lists them.
std::vector<std::string> collective_tests() {
  std::vector<std::string> tests;
  for (const Json& each : parse_json(commtune_program({"list", "tests", "--json"}).out, "list")) {
    const std::string test = each.at("name").get<std::string>();
    if (!each.at("collective").is_null() && test != "bound") tests.push_back(test);
  }
  return tests;
}

std::vector<std::string> arguments_for(const std::vector<std::string>& options,
                                       const std::string& file) {
  std::vector<std::string> arguments{"bench"};
  for (const std::string& test : collective_tests()) arguments.push_back(test);
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--sizes", "4,1000", "--iterations", "2", "--warmup", "1",
                                     "--check", "2", "-o", file});
  return arguments;
}

void expect_right(const std::string& file, std::size_t rows_per_size) {
  const ResultDocument result = read_result(file);
  EXPECT_EQ(result.status, "ok");
  const std::size_t tests = collective_tests().size();
  EXPECT_EQ(result.rows.size(), (2 * (tests - 1) + 1) * rows_per_size);  // a barrier has no size
  for (const Row& row : result.rows) {
    const std::string what = fmt::format("{} {} {} bytes: {}", row.test, row.algorithm_asked,
                                         row.bytes_per_rank, row.reason);
    EXPECT_EQ(row.status, "ok") << what;
    EXPECT_EQ(row.check_wrong, 0U) << what;
    EXPECT_EQ(row.check_iterations, row.collective == "barrier" ? 0U : 2U) << what;
  }
}

TEST(Collectives, every_one_has_a_test_and_the_uneven_ones_too) {
  std::vector<std::string> expected;
  for (const Collective collective : all_collectives()) expected.emplace_back(name(collective));
  for (const char* uneven : {"allgatherv", "reduce_scatterv", "alltoallv", "gatherv", "scatterv"}) {
    expected.emplace_back(uneven);
  }
  std::vector<std::string> tests = collective_tests();
  std::sort(tests.begin(), tests.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(tests, expected);
}

TEST(Collectives, give_right_data_over_local_transports) {
  const TemporaryFolder folder;
  for (const char* transport : {"shm", "threads"}) {
    for (const char* ranks : {"2", "3"}) {
      for (const bool in_place : {false, true}) {
        const std::string file = folder.file(fmt::format("{}{}{}", transport, ranks, in_place));
        std::vector<std::string> options{"--transport", transport, "-n", ranks};
        if (in_place) options.emplace_back("--in-place");
        const ProcessResult run = commtune_program(arguments_for(options, file));
        ASSERT_EQ(run.status, 0) << transport << ranks << in_place << run.err;
        expect_right(file, 1);
      }
    }
  }
}

TEST(Collectives, uneven_parts_count_as_what_they_are) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run = commtune_program({"bench", "allgatherv", "alltoallv", "-n", "2",
                                              "--sizes", "1000", "--iterations", "2", "-o", file});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = read_result(file).rows;
  ASSERT_EQ(rows.size(), 2U);
  // Parts of 1 and 2 times the size; of alltoall 1, 2, 2 and 0 times, 2.5 times from each rank.
  EXPECT_EQ(rows[0].bytes_total, 3000U);
  EXPECT_EQ(rows[1].bytes_total, 2500U);
}

TEST(Collectives, give_right_data_over_mpi_beside_its_own) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const TemporaryFolder folder;
  for (const int ranks : {2, 3}) {
    for (const bool in_place : {false, true}) {
      const std::string file = folder.file(fmt::format("{}{}", ranks, in_place));
      std::vector<std::string> options{"--transport", "mpi", "--algorithm", "native,auto"};
      if (in_place) options.emplace_back("--in-place");
      const ProcessResult run = under_mpirun({{ranks, arguments_for(options, file)}});
      ASSERT_EQ(run.status, 0) << ranks << in_place << run.err;
      expect_right(file, 2);
    }
  }
}

}  // namespace
}  // namespace commtune
