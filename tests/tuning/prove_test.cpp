#include "tuning/openmpi/prove.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tuning/scratch_folder.hpp"

namespace commtune::openmpi {
namespace {

/// Answers as a library that takes `loaded` for its rules.
struct FakeRuns {
  RulesFile loaded;
  bool reads_files = false;  ///< takes the rules from the file that a request names instead
  double table_factor = 1;
  std::string library = "openmpi";

  BenchRunner runner() {
    return [this](const BenchRequest& request) {
      BenchOutcome outcome;
      if (reads_files && !request.environment.empty()) {
        std::ifstream in(request.environment.back().second);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        loaded = parse_rules(text, Family::v4_1);
      }
      for (const std::uint64_t bytes : request.sizes) {
        const bool with = !request.environment.empty();
        const TunedCollective& collective = tuned(request.collective);
        const MessageRule* rule =
            with ? select(loaded, collective.id, 3, key_of(collective.key, bytes, 3)) : nullptr;
        Row row;
        row.library = library;
        row.bytes_asked = bytes;
        row.algorithm_evidence = "traced";
        row.algorithm_used =
            rule == nullptr
                ? "rabenseifner"
                : std::string(find_algorithm(collective, rule->algorithm, Family::v4_1)->name);
        const double median = with ? 100 * table_factor : 100;
        row.time = TimeSummary{};
        row.time->median = median;
        row.time->ci_low = 0.99 * median;
        row.time->ci_high = 1.01 * median;
        outcome.rows.push_back(row);
      }
      return outcome;
    };
  }
};

constexpr const char* good_rules = "1 2 1 0 3\n0 2 0 0\n4096 1 0 0\n65536 0 0 0\n";

Proof prove(const std::string& text, FakeRuns& runs) {
  const ScratchFolder folder;
  const auto file = folder.path() / "rules.conf";
  std::ofstream(file) << text;
  return prove_rules(
      file, {{Collective::allreduce, 3}}, {}, [&runs](int) { return runs.runner(); },
      [](const std::string&) {});
}

TEST(Prove, holds_when_every_rule_is_in_effect_and_nothing_is_slower) {
  FakeRuns runs{parse_rules(good_rules, Family::v4_1)};
  const Proof proof = prove(good_rules, runs);
  ASSERT_EQ(proof.lines.size(), 6U);
  EXPECT_EQ(proof.lines[0].asked, "nonoverlapping");
  EXPECT_EQ(proof.lines[0].used, "nonoverlapping");
  EXPECT_EQ(proof.lines[5].asked, "default");
  EXPECT_EQ(proof.lines[5].used, "rabenseifner");
  EXPECT_TRUE(proof.holds());
  EXPECT_NE(describe(proof).find("proved: in effect at all 6 sizes"), std::string::npos);
}

TEST(Prove, fails_when_the_library_ignores_the_file) {
  FakeRuns runs;
  const Proof proof = prove(good_rules, runs);
  EXPECT_FALSE(proof.holds());
  EXPECT_FALSE(proof.lines[0].in_effect);
  EXPECT_TRUE(proof.lines[5].in_effect);
  EXPECT_NE(describe(proof).find("not in effect at 4 of 6 sizes"), std::string::npos)
      << describe(proof);
}

constexpr const char* default_rules = "1 2 1 0 1\n0 0 0 0\n";

TEST(Prove, shows_with_a_canary_that_a_file_of_defaults_is_read) {
  FakeRuns runs;
  runs.reads_files = true;
  const Proof proof = prove(default_rules, runs);
  EXPECT_TRUE(proof.holds()) << describe(proof);
  ASSERT_EQ(proof.notes.size(), 1U);
  EXPECT_NE(proof.notes[0].find("the library ran basic_linear"), std::string::npos)
      << proof.notes[0];
}

TEST(Prove, fails_when_the_canary_changes_nothing) {
  FakeRuns runs;
  const Proof proof = prove(default_rules, runs);
  EXPECT_FALSE(proof.holds());
  EXPECT_NE(describe(proof).find("it does not read the file"), std::string::npos)
      << describe(proof);
}

TEST(Prove, fails_when_the_table_is_slower_than_the_default) {
  FakeRuns runs{parse_rules(good_rules, Family::v4_1)};
  runs.table_factor = 1.1;
  const Proof proof = prove(good_rules, runs);
  EXPECT_FALSE(proof.holds());
  EXPECT_TRUE(proof.lines[0].in_effect);
  EXPECT_TRUE(proof.lines[0].slower);
  EXPECT_FALSE(proof.lines[5].slower);
}

TEST(Prove, fails_on_a_file_with_an_error_even_when_runs_agree) {
  FakeRuns runs;
  const Proof proof = prove("1 2 1 0 1\n0 0 0 0\n9\n", runs);
  EXPECT_TRUE(proof.lines[0].in_effect);
  EXPECT_FALSE(proof.holds());
}

TEST(Prove, refuses_another_library) {
  FakeRuns runs;
  runs.library = "mpich";
  EXPECT_THROW(prove(good_rules, runs), Error);
}

TEST(Prove, looks_at_the_start_and_the_inside_of_every_rule) {
  const RulesFile rules =
      parse_rules("2 2 1 0 2 0 3 0 0 1024 0 0 0 0 1 0 2 0 0 0 0 3000 2 0 0", Family::v4_1);
  EXPECT_EQ(proof_sizes(rules, Collective::allreduce, 3, 4),
            (std::vector<std::uint64_t>{4, 516, 1024, 2048}));
  EXPECT_EQ(proof_sizes(rules, Collective::allgather, 3, 8),
            (std::vector<std::uint64_t>{8, 504, 1000, 2000}));
}

/// The real program with the real library; empty when either is missing, with the reason printed.
std::string live(const std::string& rules) {
  const char* program = std::getenv("COMMTUNE_PROGRAM");
  if (program == nullptr || find_program(program).empty()) return "";
  const ScratchFolder folder;
  const auto file = folder.path() / "rules.conf";
  std::ofstream(file) << rules;
  ProcessOptions options;
  options.argv = {program, "table",    "prove", "--rules",      file.string(), "-n",
                  "2",     "--rounds", "1",     "--time-limit", "0.02"};
  options.timeout_s = 120;
  const ProcessResult result = run_process(options);
  if (result.status == exit_unavailable) {
    std::cerr << result.err;
    return "";
  }
  EXPECT_FALSE(result.timed_out);
  return result.out + fmt::format("status {}\n", result.status) + result.err;
}

TEST(ProveLive, a_rules_file_changes_the_algorithm_that_open_mpi_runs) {
  const std::string text = live("1 2 1 0 2\n0 2 0 0\n4096 1 0 0\n");
  if (text.empty()) GTEST_SKIP() << "COMMTUNE_PROGRAM is not set or Open MPI is not here";
  EXPECT_NE(text.find("nonoverlapping       nonoverlapping"), std::string::npos) << text;
  EXPECT_NE(text.find("basic_linear         basic_linear"), std::string::npos) << text;
  EXPECT_EQ(text.find("NOT IN EFFECT"), std::string::npos) << text;
}

TEST(ProveLive, a_file_that_open_mpi_drops_without_a_word_is_found_out) {
  const std::string text = live("1 2 1 0 2\n8 2 0 0\n4096 1 0 0\n");
  if (text.empty()) GTEST_SKIP() << "COMMTUNE_PROGRAM is not set or Open MPI is not here";
  EXPECT_NE(text.find("not in effect at 4 of 4 sizes"), std::string::npos) << text;
  EXPECT_NE(text.find("status 1"), std::string::npos) << text;
}

}  // namespace
}  // namespace commtune::openmpi
