#include "tuning/table.hpp"

#include <functional>
#include <gtest/gtest.h>

#include "core/error.hpp"

namespace commtune {
namespace {

DecisionTable example() {
  DecisionTable table;
  table.run = {{"started", "2024-01-01T00:00:00Z"}};
  TableEntry entry;
  entry.collective = Collective::allreduce;
  entry.ranks = 5;
  entry.ppn = 5;
  entry.dtype_class = "float";
  entry.library = "openmpi";
  entry.rules.push_back({});
  TableRule rule;
  rule.from_bytes = 1024;
  rule.algorithm = "ring";
  rule.params = {{"segsize", 65536U}};
  rule.median_us = 8;
  rule.ci_low = 7.5;
  rule.ci_high = 8.5;
  rule.default_us = 16;
  rule.gain = 0.5;
  rule.evidence = "traced";
  entry.rules.push_back(rule);
  table.entries.push_back(entry);
  table.measured_low = 8;
  table.measured_high = 4096;
  table.measured_ranks = {5};
  table.points = 10;
  table.full_grid = 12;
  table.seconds = 1.5;
  table.warnings = {"allreduce nonoverlapping: excluded, crashed"};
  return table;
}

void expect_refused(const std::function<void(Json&)>& change, const std::string& part) {
  Json json = to_json(example());
  change(json);
  try {
    table_from_json(json, "t.json");
    FAIL() << "accepted; expected \"" << part << "\"";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::usage);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("t.json", 0), 0U) << error.what();
  }
}

TEST(DecisionTable, reads_back_exactly_what_it_wrote) {
  const Json json = to_json(example());
  EXPECT_EQ(to_json(table_from_json(json, "t.json")), json);
}

TEST(DecisionTable, keeps_the_order_of_the_interface) {
  const std::string text = to_json(example()).dump();
  EXPECT_LT(text.find("\"schema\""), text.find("\"run\""));
  EXPECT_LT(text.find("\"run\""), text.find("\"entries\""));
  EXPECT_LT(text.find("\"from_bytes\""), text.find("\"algorithm\""));
  EXPECT_LT(text.find("\"entries\""), text.find("\"measured\""));
}

TEST(DecisionTable, refuses_another_schema) {
  expect_refused([](Json& j) { j["schema"] = "commtune.table/2"; }, "commtune.table/1");
}

TEST(DecisionTable, refuses_unknown_and_missing_keys_by_name) {
  expect_refused([](Json& j) { j["colour"] = 1; }, "colour");
  expect_refused([](Json& j) { j.erase("warnings"); }, "warnings");
  expect_refused([](Json& j) { j["entries"][0]["rules"][0].erase("evidence"); }, "evidence");
  expect_refused([](Json& j) { j["entries"][0]["rules"][0]["alg"] = "x"; }, "alg");
  expect_refused([](Json& j) { j["measured"]["nodes"] = 1; }, "nodes");
  expect_refused([](Json& j) { j["budget"].erase("seconds"); }, "seconds");
}

TEST(DecisionTable, refuses_rules_that_do_not_start_at_zero_or_do_not_ascend) {
  expect_refused([](Json& j) { j["entries"][0]["rules"][0]["from_bytes"] = 8U; }, "start at 0");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["from_bytes"] = 0U; }, "ascend");
  expect_refused(
      [](Json& j) {
        Json rule = j["entries"][0]["rules"][1];
        rule["from_bytes"] = 512U;
        j["entries"][0]["rules"].push_back(rule);
      },
      "512 after 1024");
  expect_refused([](Json& j) { j["entries"][0]["rules"] = Json::array(); }, "empty");
}

TEST(DecisionTable, refuses_numbers_that_no_library_can_read) {
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["from_bytes"] = (1ULL << 42) + 1; },
                 "from_bytes is 4398046511105");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["params"]["segsize"] = 1U << 31; },
                 "params.segsize must be an integer from 0 to 2147483647");
}

TEST(DecisionTable, refuses_impossible_values) {
  expect_refused([](Json& j) { j["entries"][0]["collective"] = "AllReduce"; }, "AllReduce");
  expect_refused([](Json& j) { j["entries"][0]["ranks"] = 0U; }, "ranks is 0");
  expect_refused([](Json& j) { j["entries"][0]["ppn"] = 4U; }, "cannot hold 5");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["median_us"] = -1; }, "negative");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["ci_low"] = 9; }, "interval");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["gain"] = 1.5; }, "gain");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["params"]["segsize"] = -1; }, "segsize");
  expect_refused([](Json& j) { j["entries"][0]["rules"][1]["algorithm"] = ""; }, "algorithm");
  expect_refused([](Json& j) { j["measured"]["bytes"] = {4096U, 8U}; }, "lowest first");
  expect_refused([](Json& j) { j["measured"]["ranks"] = {5U, 3U}; }, "ascend");
  expect_refused([](Json& j) { j["warnings"] = {1}; }, "strings");
}

TEST(DecisionTable, refuses_a_second_entry_for_the_same_job) {
  expect_refused([](Json& j) { j["entries"].push_back(j["entries"][0]); }, "second entry");
}

TEST(DecisionTable, finds_the_last_rule_that_starts_at_or_below_the_size) {
  const auto rules = example().entries[0].rules;
  EXPECT_EQ(rule_for(rules, 0).algorithm, "default");
  EXPECT_EQ(rule_for(rules, 1023).algorithm, "default");
  EXPECT_EQ(rule_for(rules, 1024).algorithm, "ring");
  EXPECT_EQ(rule_for(rules, 1U << 30).algorithm, "ring");
}

TEST(DecisionTable, is_shown_with_its_range_and_its_warnings) {
  const std::string text = show(example());
  EXPECT_NE(text.find("ring segsize=64K"), std::string::npos) << text;
  EXPECT_NE(text.find("50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("from 8 to 4K bytes per rank"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: allreduce nonoverlapping"), std::string::npos) << text;
}

}  // namespace
}  // namespace commtune
