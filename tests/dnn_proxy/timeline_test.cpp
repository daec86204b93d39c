#include "dnn_proxy/timeline.hpp"

#include "core/json.hpp"
#include "support.hpp"

namespace commtune {
namespace {

TimelineEvent bar(const std::string& name, std::int64_t begin, std::int64_t end) {
  return {name, "compute", 0, begin, end, 0, {}, 1};
}

TEST(Timeline, is_strict_json_after_a_clean_end) {
  const test::TemporaryFolder folder;
  const auto file = folder / "t.json";
  TimelineWriter::create(file);
  TimelineWriter first(file, 0, 1000, 2), second(file, 1, 1000, 2);
  first.append({bar("a", 2000, 3000)});
  second.append({{"allreduce", "communication", 1, 2500, 4000, 64, "ring", 7}});
  first.close_array();
  const Json events = parse_json(test::read_text(file), "t.json");
  ASSERT_TRUE(events.is_array());
  std::size_t bars = 0;
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    ++bars;
    EXPECT_EQ(event["pid"], event["name"] == "a" ? 0 : 1);
    EXPECT_EQ(event["ts"], event["name"] == "a" ? 1.0 : 1.5);
    if (event["name"] == "allreduce") {
      EXPECT_EQ(event["args"]["bytes"], 64);
      EXPECT_EQ(event["args"]["algorithm"], "ring");
      EXPECT_EQ(event["args"]["step"], 7);
      EXPECT_EQ(event["tid"], 1);
    }
  }
  EXPECT_EQ(bars, 2U);
}

TEST(Timeline, loses_nothing_that_was_appended_when_the_end_is_missing) {
  const test::TemporaryFolder folder;
  const auto file = folder / "t.json";
  TimelineWriter::create(file);
  TimelineWriter writer(file, 0, 0, 1);
  for (int step = 0; step < 5; ++step) writer.append({bar("a", step * 10, step * 10 + 5)});
  std::string text = test::read_text(file);
  EXPECT_THROW(parse_json(text, "t.json"), Error);
  // Viewers accept the missing bracket; each line is a whole event with a comma.
  ASSERT_EQ(text.substr(text.size() - 2), ",\n");
  text.replace(text.size() - 2, 2, "]");
  EXPECT_EQ(parse_json(text, "t.json").size(), 3U + 5U);
}

TEST(Timeline, puts_the_parent_first_when_both_begin_together) {
  const test::TemporaryFolder folder;
  const auto file = folder / "t.json";
  TimelineWriter::create(file);
  TimelineWriter writer(file, 0, 0, 0);
  writer.append(
      {bar("child", 10, 20), bar("empty", 10, 10), bar("parent", 10, 30), bar("before", 5, 6)});
  writer.close_array();
  std::vector<std::string> names;
  for (const Json& event : parse_json(test::read_text(file), "t.json"))
    if (event["ph"] == "X") names.push_back(event["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"before", "parent", "child", "empty"}));
}

}  // namespace
}  // namespace commtune
