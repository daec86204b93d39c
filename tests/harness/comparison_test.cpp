#include "harness/comparison.hpp"

#include <gtest/gtest.h>

namespace commtune::test {
namespace {

Row row(const std::string& algorithm, std::uint64_t bytes, double low, double median, double high) {
  Row made;
  made.test = made.collective = "allreduce";
  made.transport = "shm";
  made.ranks = 2;
  made.algorithm_asked = algorithm;
  made.bytes_asked = bytes;
  made.dtype = "float32";
  made.op = "sum";
  made.time = TimeSummary{};
  made.time->median = median;
  made.time->ci_low = low;
  made.time->ci_high = high;
  return made;
}

ResultDocument document(std::vector<Row> rows, const std::string& transport = "shm") {
  ResultDocument made;
  made.run = {{"label", nullptr}};
  for (Row& each : rows) each.transport = transport;
  made.rows = std::move(rows);
  return made;
}

TEST(Comparison, decides_by_intervals_that_do_not_touch) {
  const auto base =
      document({row("ring", 8, 9, 10, 11), row("ring", 16, 9, 10, 11), row("ring", 32, 9, 10, 11)});
  const auto other = document(
      {row("ring", 8, 10.9, 12, 13), row("ring", 16, 11.1, 12, 13), row("ring", 32, 7, 8, 8.9)},
      "ucx");
  const Comparison comparison = compare_results({base, other}, {"a", "b"});
  EXPECT_EQ(comparison.columns, (std::vector<std::string>{"shm", "ucx"}));
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].verdict(1), Verdict::same);
  EXPECT_EQ(comparison.rows[1].verdict(1), Verdict::slower);
  EXPECT_EQ(comparison.rows[2].verdict(1), Verdict::faster);
  EXPECT_EQ(comparison.rows[1].ratio(1), 1.2);
}

TEST(Comparison, has_no_verdict_on_flagged_missing_or_skipped_rows) {
  Row flagged = row("ring", 8, 1, 2, 3), skipped = row("ring", 32, 1, 2, 3);
  flagged.flags = {"few_samples"};
  skipped.status = "skipped";
  const auto base = document({flagged, row("ring", 16, 1, 2, 3), row("ring", 32, 1, 2, 3)});
  const auto other = document({row("ring", 8, 10, 20, 30), skipped});
  const Comparison comparison = compare_results({base, other}, {"a", "b"});
  EXPECT_EQ(comparison.columns, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(comparison.rows.size(), 3U);
  for (const ComparedRow& each : comparison.rows) EXPECT_EQ(each.verdict(1), Verdict::unknown);
  EXPECT_EQ(comparison.rows[0].ratio(1), 10);
  EXPECT_FALSE(comparison.rows[1].ratio(1));
  EXPECT_FALSE(comparison.rows[2].ratio(1));
}

TEST(Comparison, tells_rows_apart_by_everything_that_was_asked) {
  Row in_place = row("ring", 8, 1, 2, 3), three = in_place, tree = row("tree", 8, 1, 2, 3);
  in_place.in_place = true;
  three.ranks = 3;
  const auto files = document({row("ring", 8, 1, 2, 3), in_place, three, tree});
  EXPECT_EQ(compare_results({files, files}, {"a", "b"}).rows.size(), 4U);
}

}  // namespace
}  // namespace commtune::test
