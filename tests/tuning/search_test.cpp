#include "tuning/search.hpp"

#include <gtest/gtest.h>
#include <map>

#include "core/error.hpp"
#include "tuning/candidates.hpp"

namespace commtune {
namespace {

/// Pretends to be Open MPI: microseconds by forced algorithm id, "" for the default.
struct FakeLibrary {
  std::map<std::string, double> times{{"", 100},  {"1", 300}, {"2", 90}, {"3", 50},
                                      {"4", 101}, {"5", 99},  {"6", 100}};
  std::string crashing, hanging, wrong, ignored;
  std::size_t wrong_default_run = 0;  ///< 1: the first run of the default is wrong; 0: none
  double growth = 1;                  ///< of the time where the size doubles
  std::vector<std::string> flags;
  std::string library = "openmpi";
  std::vector<std::string> log;

  static std::string forced(const BenchRequest& request) {
    for (const auto& [key, value] : request.environment) {
      if (key == "OMPI_MCA_coll_tuned_allreduce_algorithm") return value;
    }
    return "";
  }

  static std::string name_of(const std::string& id) {
    static const std::map<std::string, std::string> names{
        {"", "vendor"},          {"1", "basic_linear"},
        {"2", "nonoverlapping"}, {"3", "recursive_doubling"},
        {"4", "ring"},           {"5", "segmented_ring"},
        {"6", "rabenseifner"}};
    return names.at(id);
  }

  BenchOutcome run(const BenchRequest& request) {
    const std::string id = forced(request);
    log.push_back(id);
    BenchOutcome outcome;
    outcome.run = {{"argv", {"commtune", "bench"}},
                   {"started", "2024-01-01T00:00:00Z"},
                   {"label", nullptr},
                   {"library", {{"name", library}}}};
    if (!crashing.empty() && id == crashing) return {4, "rank 1 was killed by signal 11", {}, {}};
    if (!hanging.empty() && id == hanging) return {4, "hung: stopped after 60 s", {}, {}};
    for (const std::uint64_t bytes : request.sizes) {
      Row row;
      row.test = row.collective = "allreduce";
      row.transport = "mpi";
      row.library = library;
      row.ranks = 3;
      row.ppn = 3;
      row.bytes_asked = row.bytes_per_rank = bytes;
      row.algorithm_asked = "native";
      row.algorithm_used = name_of(!ignored.empty() && id == ignored ? "" : id);
      row.algorithm_evidence = "traced";
      row.flags = flags;
      double median = times.at(id);
      for (std::uint64_t at = request.sizes.front(); at < bytes; at *= 2) median *= growth;
      row.time = TimeSummary{};
      row.time->median = median;
      row.time->ci_low = 0.99 * median;
      row.time->ci_high = 1.01 * median;
      const auto defaults = static_cast<std::size_t>(std::count(log.begin(), log.end(), ""));
      if ((!wrong.empty() && id == wrong) || (id.empty() && defaults == wrong_default_run)) {
        row.check_wrong = 7;
        row.status = "failed";
        row.reason = "wrong data: 7 elements";
        outcome.status = 1;
        outcome.reason = "1 rows failed";
      }
      outcome.rows.push_back(row);
    }
    return outcome;
  }
};

RunOptions run_options() {
  RunOptions options;
  options.transport = "mpi";
  options.ranks = 3;
  return options;
}

SearchReport tune(
    FakeLibrary& library, const SearchOptions& search_options,
    const Checkpoint& checkpoint = [](const DecisionTable&) {}) {
  return search(
      run_options(), search_options,
      [&library](const BenchRequest& request) { return library.run(request); },
      [](const std::string&) {}, checkpoint);
}

SearchOptions small_search() {
  SearchOptions options;
  options.sizes = {64, 128, 256};
  return options;
}

bool warned(const DecisionTable& table, const std::string& part) {
  for (const std::string& warning : table.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Search, finds_the_fastest_algorithm_and_writes_a_valid_table) {
  FakeLibrary library;
  const SearchReport report = tune(library, small_search());
  const DecisionTable table = table_from_json(to_json(report.table), "t.json");
  ASSERT_EQ(table.entries.size(), 1U);
  EXPECT_EQ(table.entries[0].library, "openmpi");
  EXPECT_EQ(table.entries[0].ranks, 3);
  ASSERT_EQ(table.entries[0].rules.size(), 3U);
  EXPECT_EQ(table.entries[0].rules[1].algorithm, "recursive_doubling");
  EXPECT_EQ(table.entries[0].rules[1].from_bytes, 64U);
  EXPECT_EQ(table.entries[0].rules[1].evidence, "traced");
  EXPECT_EQ(table.entries[0].rules[2].from_bytes, 512U);
  EXPECT_EQ(table.measured_low, 64U);
  EXPECT_EQ(table.measured_high, 256U);
  EXPECT_EQ(table.measured_ranks, std::vector<int>{3});
  EXPECT_LT(table.points, table.full_grid);
  EXPECT_TRUE(table.warnings.empty());
  EXPECT_NE(report.summary.find("50.0 %"), std::string::npos) << report.summary;
}

TEST(Search, interleaves_the_candidates_in_an_order_that_the_seed_fixes) {
  FakeLibrary first, second;
  tune(first, small_search());
  tune(second, small_search());
  EXPECT_EQ(first.log, second.log);
  EXPECT_EQ(first.log.front(), "");
  EXPECT_EQ(std::count(first.log.begin(), first.log.end(), ""), 3);
  EXPECT_EQ(std::count(first.log.begin(), first.log.end(), "3"), 3);
  EXPECT_FALSE(std::is_sorted(first.log.begin(), first.log.begin() + 8));
}

TEST(Search, does_not_repeat_a_candidate_that_is_hopeless) {
  FakeLibrary library;
  tune(library, small_search());
  EXPECT_EQ(std::count(library.log.begin(), library.log.end(), "1"), 1);
}

TEST(Search, excludes_what_crashes_hangs_or_is_wrong_by_name) {
  FakeLibrary library;
  library.crashing = "2";
  library.hanging = "6";
  library.wrong = "3";
  const DecisionTable table = tune(library, small_search()).table;
  EXPECT_TRUE(warned(table, "nonoverlapping: excluded, rank 1 was killed"));
  EXPECT_TRUE(warned(table, "rabenseifner: excluded, hung"));
  EXPECT_TRUE(warned(table, "recursive_doubling: excluded, wrong data at 64 bytes"));
  EXPECT_EQ(table.warnings.size(), 3U);
  for (const TableRule& rule : table.entries[0].rules) EXPECT_EQ(rule.algorithm, "default");
}

TEST(Search, excludes_an_algorithm_that_was_asked_for_but_did_not_run) {
  FakeLibrary library;
  library.times["4"] = 10;
  library.ignored = "4";
  const DecisionTable table = tune(library, small_search()).table;
  EXPECT_TRUE(warned(table, "ring: excluded, asking for it had no effect"));
  EXPECT_EQ(table.entries[0].rules[1].algorithm, "recursive_doubling");
}

TEST(Search, refuses_when_ranks_outnumber_processors_unless_forced) {
  FakeLibrary library;
  library.flags = {"oversubscribed"};
  SearchOptions options = small_search();
  try {
    tune(library, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::wrong_result);
    EXPECT_NE(std::string(error.what()).find("--force"), std::string::npos);
  }
  EXPECT_EQ(library.log.size(), 1U);
  options.force = true;
  EXPECT_TRUE(warned(tune(library, options).table, "more ranks than processors"));
}

TEST(Search, ends_when_the_default_itself_fails) {
  FakeLibrary library;
  library.wrong = " ";
  library.times.clear();
  const auto runner = [](const BenchRequest&) {
    return BenchOutcome{3, "no mpirun in PATH", {}, {}};
  };
  try {
    search(
        run_options(), small_search(), runner, [](const std::string&) {},
        [](const DecisionTable&) {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unavailable);
    EXPECT_NE(std::string(error.what()).find("no mpirun"), std::string::npos);
  }
}

TEST(Search, recommends_nothing_when_the_default_has_wrong_data_in_any_round) {
  for (const std::size_t run : {1U, 3U}) {
    FakeLibrary library;
    library.wrong_default_run = run;
    try {
      tune(library, small_search());
      FAIL() << "accepted with a wrong default in run " << run;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::wrong_result);
      EXPECT_NE(std::string(error.what()).find("default gives wrong data at 64 bytes"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Search, a_table_tells_of_the_tune_and_not_of_a_run_inside_it) {
  FakeLibrary library;
  RunOptions options = run_options();
  options.argv = {"commtune", "tune", "allreduce"};
  const auto run_of = [&](const RunOptions& given) {
    return search(
               given, small_search(),
               [&library](const BenchRequest& request) { return library.run(request); },
               [](const std::string&) {}, [](const DecisionTable&) {})
        .table.run;
  };
  EXPECT_EQ(run_of(options)["label"], nullptr);
  options.label = "rack 7";
  const Json run = run_of(options);
  EXPECT_EQ(run["argv"], Json({"commtune", "tune", "allreduce"}));
  EXPECT_EQ(run["label"], "rack 7");
  EXPECT_EQ(run["library"]["name"], "openmpi");
}

TEST(Search, warns_of_a_time_that_jumps_between_neighbouring_sizes) {
  FakeLibrary library;
  library.growth = 4;
  const DecisionTable table = tune(library, small_search()).table;
  EXPECT_TRUE(warned(table, "allreduce: the time rises from 50.00 us (recursive_doubling) at 64"));
  EXPECT_EQ(table.warnings.size(), 2U);
}

TEST(Search, leaves_a_valid_table_after_every_round) {
  FakeLibrary library;
  std::vector<DecisionTable> seen;
  tune(library, small_search(), [&seen](const DecisionTable& table) {
    seen.push_back(table_from_json(to_json(table), "checkpoint"));
  });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(warned(seen[0], "incomplete: 1 of 3 rounds"));
  EXPECT_EQ(seen[0].entries[0].rules[1].algorithm, "recursive_doubling");
}

TEST(Search, stops_at_the_budget_and_says_so) {
  FakeLibrary library;
  SearchOptions options = small_search();
  options.budget_s = 1e-9;
  const DecisionTable table = tune(library, options).table;
  EXPECT_EQ(library.log.size(), 1U);
  EXPECT_TRUE(warned(table, "incomplete: the budget"));
}

TEST(Search, refuses_sizes_that_do_not_ascend) {
  FakeLibrary library;
  SearchOptions options = small_search();
  options.sizes = {64, 64};
  EXPECT_THROW(tune(library, options), Error);
  options.sizes.clear();
  EXPECT_THROW(tune(library, options), Error);
}

TEST(Candidates, leave_out_what_cannot_run_with_these_ranks) {
  const auto has = [](int ranks, const std::string& algorithm) {
    const auto all = candidates_of("openmpi", Collective::allgather, ranks);
    return std::any_of(all.begin(), all.end(),
                       [&](const Candidate& each) { return each.algorithm == algorithm; });
  };
  EXPECT_TRUE(has(2, "two_proc"));
  EXPECT_FALSE(has(3, "two_proc"));
  EXPECT_FALSE(has(3, "neighbor"));
  EXPECT_FALSE(has(6, "recursive_doubling"));
  EXPECT_TRUE(has(4, "recursive_doubling"));
}

TEST(Candidates, sweep_mpich_without_its_silent_fallback) {
  for (const Candidate& each : candidates_of("mpich", Collective::allreduce, 3)) {
    ASSERT_EQ(each.environment.size(), 2U);
    EXPECT_EQ(each.environment[0].first, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM");
    EXPECT_EQ(each.environment[0].second, each.algorithm);
    EXPECT_EQ(each.environment[1].second, "error");
  }
  EXPECT_THROW(candidates_of("nccl", Collective::allreduce, 3), Error);
}

}  // namespace
}  // namespace commtune
