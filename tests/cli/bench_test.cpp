#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <sstream>
#include <thread>
#include <tuple>

#include "collectives/schedule/algorithm.hpp"
#include "core/error.hpp"
#include "harness/record.hpp"
#include "program.hpp"
#include "tuning/table.hpp"

namespace commtune {
namespace {

std::vector<std::string> quick(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  arguments.insert(arguments.end(), {"--iterations", "3", "--warmup", "1"});
  return arguments;
}

/// Rows of `bench all` with two sizes: a barrier has none, and one rank has no point-to-point.
std::size_t expected_rows(bool one_rank) {
  std::size_t rows = 0;
  for (const Json& test : parse_json(commtune_program({"list", "tests", "--json"}).out, "tests")) {
    const bool impossible = one_rank && test.at("ranks") > 1;
    rows += impossible || test.at("name") == "barrier" ? 1 : 2;
  }
  return rows;
}

TEST(Bench, writes_a_strict_result_over_local_transports_at_any_number_of_ranks) {
  const TemporaryFolder folder;
  for (const char* transport : {"shm", "threads"}) {
    for (const char* ranks : {"1", "2", "3", "5"}) {
      const std::string file = folder.file(std::string(transport) + ranks);
      const ProcessResult run =
          commtune_program(quick({"all", "--transport", transport, "-n", ranks, "--sizes", "4,1000",
                                  "-o", file, "--label", "test label"}));
      ASSERT_EQ(run.status, 0) << run.err;
      const ResultDocument result = read_result(file);
      EXPECT_EQ(result.status, "ok");
      EXPECT_EQ(result.rows.size(), expected_rows(ranks[0] == '1'));
      for (const Row& row : result.rows) {
        const bool impossible = ranks[0] == '1' && row.collective.empty();
        EXPECT_EQ(row.status, impossible ? "skipped" : "ok") << row.reason;
        EXPECT_EQ(row.check_wrong, 0U);
      }
      const std::string text = result.run.dump();
      EXPECT_NE(text.find("test label"), std::string::npos);
    }
  }
}

TEST(Bench, formats_stdout_as_asked_and_keeps_messages_off_it) {
  const ProcessResult json =
      commtune_program(quick({"latency", "--sizes", "8", "--format", "json"}));
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(parse_json(json.out, "stdout").at("schema"), "commtune.result/1");

  const ProcessResult csv =
      commtune_program(quick({"latency", "--sizes", "8,64", "--format", "csv"}));
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
  std::istringstream lines(csv.out);
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  EXPECT_EQ(std::count(header.begin(), header.end(), ','),
            std::count(first.begin(), first.end(), ','));

  const ProcessResult osu = commtune_program(quick({"latency", "--sizes", "8", "--format", "osu"}));
  ASSERT_EQ(osu.status, 0) << osu.err;
  EXPECT_NE(osu.out.find("# Size       Avg Latency(us)"), std::string::npos) << osu.out;
  EXPECT_NE(osu.out.find("\n8 "), std::string::npos) << osu.out;
}

TEST(Bench, an_algorithm_of_another_test_is_skipped_with_the_reason) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run = commtune_program(
      quick({"broadcast", "allreduce", "--algorithm", "binomial", "--sizes", "8", "-o", file}));
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = read_result(file).rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].status, "ok");
  EXPECT_EQ(rows[1].status, "skipped");
  EXPECT_EQ(rows[1].reason, "allreduce has no algorithm 'binomial'");
}

TEST(Bench, an_option_without_effect_is_one_line_and_a_warning_of_the_run) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run =
      commtune_program(quick({"latency", "--sizes", "8", "--dtype", "int8", "-o", file}));
  EXPECT_EQ(run.status, 0);
  const std::string note = "--dtype has no effect on latency";
  EXPECT_NE(run.err.find(note), std::string::npos) << run.err;
  EXPECT_EQ(read_result(file).run.at("warnings"), Json::array({note}));
}

TEST(Bench, zero_bytes_run_and_sizes_without_an_element_show_what_was_asked) {
  const ProcessResult run = commtune_program(quick({"allreduce", "--sizes", "0,3,8"}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out.find("skipped allreduce/ring 0"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" 3: no whole float32 element in 3 bytes"), std::string::npos) << run.out;
}

/// A decision table with one allreduce entry of the ring algorithm.
std::string write_ring_table(const TemporaryFolder& folder, const std::string& library, int ranks,
                             const std::string& transport) {
  DecisionTable table;
  table.run["transport"] = {{"name", transport}};
  table.measured_ranks = {ranks};
  TableEntry entry;
  entry.ranks = entry.ppn = ranks;
  entry.dtype_class = "float";
  entry.library = library;
  entry.rules.emplace_back();
  entry.rules[0].algorithm = "ring";
  table.entries.push_back(entry);
  std::string file = folder.file(fmt::format("{}-{}-{}.json", library, ranks, transport));
  std::ofstream(file) << to_json(table).dump();
  return file;
}

TEST(Bench, a_table_for_another_job_is_told_and_the_built_in_one_is_used) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const auto evidence = [&](const std::string& table, bool fits) {
    const ProcessResult run =
        commtune_program(quick({"allreduce", "--transport", "shm", "-n", "3", "--sizes", "1K",
                                "--table", table, "-o", file}));
    EXPECT_EQ(run.status, 0) << run.err;
    const ResultDocument result = read_result(file);
    EXPECT_EQ(result.run.at("warnings").size(), fits ? 0U : 1U) << result.run.at("warnings");
    for (const Json& warning : result.run.at("warnings")) {
      EXPECT_NE(run.err.find("commtune: " + warning.get<std::string>()), std::string::npos)
          << run.err;
    }
    return result.rows.at(0).algorithm_evidence + "; " + run.err;
  };
  const std::string fitting = evidence(write_ring_table(folder, "commtune", 3, "shm"), true);
  EXPECT_EQ(fitting.rfind("table commtune-3-shm.json", 0), 0U) << fitting;
  const std::tuple<const char*, int, const char*, const char*> others[] = {
      {"openmpi", 3, "mpi", "is for openmpi allreduce with 3 ranks over mpi"},
      {"commtune", 4, "shm", "is for commtune allreduce with 4 ranks over shm"},
      {"commtune", 3, "threads", "is for commtune allreduce with 3 ranks over threads"}};
  for (const auto& [library, ranks, transport, expected] : others) {
    const std::string text = evidence(write_ring_table(folder, library, ranks, transport), false);
    EXPECT_EQ(text.rfind("built-in table", 0), 0U) << text;
    EXPECT_NE(text.find(expected), std::string::npos) << text;
    EXPECT_NE(text.find("for commtune allreduce with 3 ranks over shm the built-in table is used"),
              std::string::npos)
        << text;
  }
}

TEST(Mpi, native_and_own_algorithms_run_side_by_side_under_mpirun) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const TemporaryFolder folder;
  for (const int ranks : {1, 2, 3}) {
    const std::string file = folder.file(std::to_string(ranks));
    const ProcessResult run =
        under_mpirun({{ranks, quick({"allreduce", "broadcast", "--algorithm", "native,ring",
                                     "--sizes", "8,4K", "-o", file})}});
    ASSERT_EQ(run.status, 0) << run.err;
    const ResultDocument result = read_result(file);
    ASSERT_EQ(result.rows.size(), 8U);
    for (const Row& row : result.rows) {
      EXPECT_EQ(row.transport, "mpi");
      EXPECT_EQ(row.ranks, ranks);
      EXPECT_NE(row.library, "");
      const bool skipped = row.collective == "broadcast" && row.algorithm_asked == "ring";
      EXPECT_EQ(row.status, skipped ? "skipped" : "ok") << row.reason;
      EXPECT_EQ(row.check_wrong, 0U);
    }
  }
}

TEST(Mpi, ranks_started_with_different_sizes_stop_before_a_transfer) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const ProcessResult run = under_mpirun({{1, quick({"allreduce", "--sizes", "8", "-o", file})},
                                          {1, quick({"allreduce", "--sizes", "16", "-o", file})}});
  EXPECT_EQ(run.status, exit_usage) << run.err;
  EXPECT_NE(run.err.find("rank 1 has --sizes [16], rank 0 has [8]"), std::string::npos) << run.err;
  const ResultDocument result = read_result(file);
  EXPECT_EQ(result.status, "failed");
  EXPECT_TRUE(result.rows.empty());
}

TEST(Mpi, a_usage_error_is_told_once) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const ProcessResult run = under_mpirun({{3, quick({"allreduce", "--sizes", "2X"})}});
  EXPECT_NE(run.status, 0);
  const std::size_t first = run.err.find("commtune: --sizes");
  ASSERT_NE(first, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("commtune: --sizes", first + 1), std::string::npos) << run.err;
}

TEST(Mpi, a_usage_error_of_a_later_part_is_told_too) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const ProcessResult run = under_mpirun(
      {{1, quick({"allreduce", "--sizes", "8"})}, {2, quick({"allreduce", "--sizes", "2X"})}});
  EXPECT_EQ(run.status, exit_usage);
  EXPECT_NE(run.err.find("commtune: --sizes"), std::string::npos) << run.err;
}

TEST(Mpi, local_transports_are_refused_under_a_launcher_of_several_ranks) {
  if (const std::string reason = mpi_missing(); !reason.empty()) GTEST_SKIP() << reason;
  const ProcessResult run = under_mpirun({{2, quick({"allreduce", "--transport", "shm"})}});
  EXPECT_EQ(run.status, exit_usage) << run.err;
  EXPECT_NE(run.err.find("--transport shm"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace commtune
