#include "tuning/openmpi/lint.hpp"

#include <gtest/gtest.h>

namespace commtune::openmpi {
namespace {

struct Case {
  const char* what;
  const char* text;
  Finding::Severity severity;
  std::size_t line;
  const char* part;
};
constexpr auto error = Finding::Severity::error;
constexpr auto warning = Finding::Severity::warning;

const std::vector<Case>& catalogue() {
  static const std::vector<Case> cases{
      {"octal", "1 2 1 0 2\n0 0 0 0\n010 3 0 0\n", warning, 3, "octal: 8"},
      {"suffix", "1 2 1 0 2\n0 0 0 0\n64K 3 0 0\n", error, 3, "\"64K\" is read as 64"},
      {"skipped word", "1 allreduce 2 1 0 1\n0 3 0 0\n", warning, 1, "\"allreduce\""},
      {"negative number", "-1\n", error, 1, "ignores the whole file"},
      {"too many collectives", "23\n", error, 1, "number of collectives is 23"},
      {"collective id", "1 22 0\n", error, 1, "collective id is 22"},
      {"first size", "1 2 1 0 1\n8 3 0 0\n", error, 2, "must be 0"},
      {"descending sizes", "1 2 1 0 3\n0 3 0 0\n64 1 0 0\n32 2 0 0\n", error, 4, "out of order"},
      {"duplicate size", "1 2 1 0 3\n0 3 0 0\n64 1 0 0\n64 2 0 0\n", error, 4, "duplicate"},
      {"no rule", "1 2 1 0 0\n", error, 1, "no rule for size 0"},
      {"descending ranks", "1 2 2\n4 1 0 0 0 0\n2 1 0 0 0 0\n", error, 3, "blocks must ascend"},
      {"duplicate ranks", "1 2 2\n4 1 0 0 0 0\n4 1 0 0 0 0\n", error, 3, "duplicate"},
      {"duplicate collective", "2\n2 1 0 1 0 0 0 0\n2 1 0 1 0 3 0 0\n", error, 3, "twice"},
      {"unknown algorithm", "1 2 1 0 1\n0 7 0 0\n", error, 2, "no algorithm 7"},
      {"two_proc", "1 0 1 0 1\n0 6 0 0\n", error, 2, "two_proc"},
      {"two_proc reaches 3", "1 0 2 0 1 0 0 0 0\n2 1\n0 6 0 0\n", error, 3, "2 and more"},
      {"neighbor", "1 0 1 0 1\n0 5 0 0\n", warning, 2, "neighbor"},
      {"trailing", "1 2 1 0 1\n0 3 0 0\n64 1 0 0\n", error, 3, "4 numbers after"},
      {"rooted", "1 15 1 0 2\n0 2 0 0\n4096 1 0 0\n", error, 3, "hangs and wrong data"},
      {"order of operands", "1 2 1 0 1\n0 4 0 0\n", warning, 2, "do not commute"},
      {"version header", "rule-file-version-2\n1 2 1 0 1\n0 3 0 0\n", error, 1, "version header"},
      {"first block", "1 2 1\n8 1 0 3 0 0\n", warning, 2, "every smaller communicator"},
      {"scan threshold", "1 14 1 0 2\n0 1 0 0\n64 2 0 0\n", warning, 3, "never the message"},
      {"barrier threshold", "1 6 1 0 2\n0 1 0 0\n64 2 0 0\n", warning, 3, "only the first rule"},
      {"not implemented", "1 10 1 0 1 0 1 0 0\n", warning, 1, "does not implement gatherv"},
      {"truncated", "1 2 1 0 2\n0 3 0 0\n64 1 0\n", error, 4, "the file ends"},
      {"empty", "", error, 1, "the file ends"},
  };
  return cases;
}

bool found(const std::vector<Finding>& findings, const Case& expected) {
  for (const Finding& finding : findings) {
    if (finding.severity == expected.severity && finding.line == expected.line &&
        finding.text.find(expected.part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Lint, finds_every_fault_of_the_catalogue_at_its_line) {
  for (const Case& each : catalogue()) {
    const auto findings = lint(each.text, Family::v4_1);
    EXPECT_TRUE(found(findings, each)) << each.what;
    if (found(findings, each)) continue;
    for (const Finding& finding : findings) {
      std::cerr << name(finding.severity) << " " << finding.line << ": " << finding.text << "\n";
    }
  }
}

TEST(Lint, tells_of_a_long_word_once_and_in_short) {
  std::string text = "1 2 1 0 1\n0 3 0 0\n";
  for (int i = 0; i < 1000; ++i) text += "1a";
  const auto findings = lint(text + " b1c2d3\n", Family::v4_1);
  std::size_t told = 0;
  for (const Finding& finding : findings) told += finding.text.size();
  // The word; the next one, which is no number; the numbers in it; numbers that are never read.
  EXPECT_EQ(findings.size(), 4U);
  EXPECT_LT(told, 1000U);
}

TEST(Lint, says_nothing_about_a_clean_file) {
  const char* clean =
      "# comment with 1 2 3\n"
      "4\n"
      "2 3  0 1 0 0 0 0  4 2 0 3 0 0  0x400 6 0 0  5 1 0 0 0 0\n"
      "0 3  0 1 0 0 0 0  2 1 0 6 0 0  3 1 0 0 0 0\n"
      "15 1 0 1 0 2 0 0\n"
      "6 1 0 1 0 3 0 0\n"
      "# end\n";
  for (const Family family : {Family::v4_1, Family::v5_0}) {
    for (const Finding& finding : lint(clean, family)) {
      ADD_FAILURE() << finding.line << ": " << finding.text;
    }
  }
}

TEST(Lint, says_one_thing_about_a_file_that_is_cut_short_wherever_the_cut_is) {
  const std::string whole =
      "2 0 2 3 1 0 1 0 0 5 2 0 2 0 0 64 1 0 0 2 2 2 1 0 3 0 0 3 2 0 1 0 0 64 2 0 0";
  ASSERT_TRUE(parse_rules(whole, Family::v4_1).accepted);
  for (std::size_t end = whole.find(' '); end != std::string::npos;
       end = whole.find(' ', end + 1)) {
    const std::string text = whole.substr(0, end);
    std::vector<Finding> errors;
    for (const Finding& finding : lint(text, Family::v4_1)) {
      EXPECT_EQ(finding.line, 1U) << text << ": " << finding.text;
      if (finding.severity == error) errors.push_back(finding);
    }
    ASSERT_EQ(errors.size(), 1U) << text << ": " << errors.back().text;
    EXPECT_NE(errors[0].text.find("the file ends"), std::string::npos) << errors[0].text;
  }
}

TEST(Lint, does_not_guess_the_reach_of_a_block_behind_which_the_file_is_cut_short) {
  EXPECT_EQ(lint("1 0 3 0 1 0 0 0 0 2 1 0 6 0 0", Family::v4_1).size(), 1U);
}

TEST(Lint, reports_a_file_that_is_not_there) {
  const auto findings = lint_file("/nonexistent/rules.conf", Family::v4_1);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, error);
}

TEST(Lint, knows_what_a_newer_release_accepts) {
  EXPECT_EQ(lint("1 0 1 0 1 0 7 0 0\n", Family::v4_1).size(), 1U);
  EXPECT_TRUE(lint("1 0 1 0 1 0 7 0 0\n", Family::v5_0).empty());
  const auto findings = lint("rule-file-version-2\n1 3 1 0 1\n0 4 0 0 8\n", Family::v5_0);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, warning);
}

long algorithm_at(const char* text, int collective, long ranks, std::uint64_t key) {
  const RulesFile file = parse_rules(text, Family::v4_1);
  const MessageRule* rule = select(file, collective, ranks, key);
  return rule == nullptr ? 0 : rule->algorithm;
}

TEST(Select, takes_the_last_size_at_or_below_the_key) {
  const char* text = "1 2 1 0 3\n0 1 0 0\n64 2 0 0\n1024 3 0 0\n";
  EXPECT_EQ(algorithm_at(text, 2, 3, 0), 1);
  EXPECT_EQ(algorithm_at(text, 2, 3, 63), 1);
  EXPECT_EQ(algorithm_at(text, 2, 3, 64), 2);
  EXPECT_EQ(algorithm_at(text, 2, 3, 1024), 3);
  EXPECT_EQ(algorithm_at(text, 7, 3, 1024), 0);
}

TEST(Select, stops_at_the_first_size_that_exceeds_the_key) {
  EXPECT_EQ(algorithm_at("1 2 1 0 3\n0 1 0 0\n1024 2 0 0\n64 3 0 0\n", 2, 3, 100), 1);
}

TEST(Select, uses_the_first_block_below_the_smallest_communicator) {
  const char* text = "1 2 2\n4 1 0 1 0 0\n16 1 0 2 0 0\n";
  EXPECT_EQ(algorithm_at(text, 2, 2, 8), 1);
  EXPECT_EQ(algorithm_at(text, 2, 15, 8), 1);
  EXPECT_EQ(algorithm_at(text, 2, 16, 8), 2);
  EXPECT_EQ(algorithm_at(text, 2, 1000, 8), 2);
}

TEST(Select, stops_at_the_first_block_that_exceeds_the_communicator) {
  EXPECT_EQ(algorithm_at("1 2 3\n2 1 0 1 0 0\n16 1 0 2 0 0\n4 1 0 3 0 0\n", 2, 5, 8), 1);
}

TEST(Select, lets_the_last_of_two_equal_collectives_win) {
  EXPECT_EQ(algorithm_at("2\n2 1 0 1 0 1 0 0\n2 1 0 1 0 3 0 0\n", 2, 3, 8), 3);
}

TEST(ParseRules, reads_numbers_as_scanf_does) {
  const RulesFile file = parse_rules("1 2 1 0 2 0 3 0 010 0x10K 1 0 08", Family::v4_1);
  ASSERT_TRUE(file.accepted);
  const auto& rules = file.collectives[0].blocks[0].rules;
  EXPECT_EQ(rules[0].segsize, 8);
  EXPECT_EQ(rules[1].from_key, 16U);
  EXPECT_EQ(rules[1].segsize, 0);
}

TEST(ParseRules, keeps_what_was_meant_although_the_loader_drops_the_file) {
  const RulesFile file = parse_rules("1 2 1 0 1\n8 4 0 0\n", Family::v4_1);
  EXPECT_FALSE(file.accepted);
  ASSERT_NE(select(file, 2, 2, 1024), nullptr);
  EXPECT_EQ(select(file, 2, 2, 1024)->algorithm, 4);
}

}  // namespace
}  // namespace commtune::openmpi
