#include "harness/timeline.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

#include "core/error.hpp"
#include "core/json.hpp"

namespace commtune {
namespace {

class Timeline : public testing::Test {
 protected:
  ~Timeline() override { std::filesystem::remove(file); }
  std::string text() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("commtune-timeline-{}.json", getpid());
};

TimelineEvent bar(const std::string& name, std::int64_t begin, std::int64_t end) {
  return {name, "compute", 0, begin, end, 0, {}, 1};
}

TEST_F(Timeline, is_strict_json_after_a_clean_end) {
  TimelineWriter::create(file);
  const std::vector<std::string> threads{"compute", "communication 1"};
  TimelineWriter first(file, 0, 1000, threads), second(file, 1, 1000, threads);
  first.append({bar("a", 2000, 3000)});
  second.append({{"allreduce", "communication", 1, 2500, 4000, 64, "ring", 7}});
  first.close_array();
  const Json events = parse_json(text(), "t.json");
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

TEST_F(Timeline, loses_nothing_that_was_appended_when_the_end_is_missing) {
  TimelineWriter::create(file);
  TimelineWriter writer(file, 0, 0, {"compute", "communication 1"});
  for (int step = 0; step < 5; ++step) writer.append({bar("a", step * 10, step * 10 + 5)});
  std::string lines = text();
  EXPECT_THROW(parse_json(lines, "t.json"), Error);
  // Viewers accept the missing bracket; each line is a whole event with a comma.
  ASSERT_EQ(lines.substr(lines.size() - 2), ",\n");
  lines.replace(lines.size() - 2, 2, "]");
  EXPECT_EQ(parse_json(lines, "t.json").size(), 3U + 5U);
}

TEST_F(Timeline, of_several_ranks_may_be_written_by_one) {
  TimelineWriter::create(file);
  TimelineWriter writer(file, 0, 500, {"calls"});
  writer.add_rank(1);
  writer.append(1, {{"barrier", "sample", 0, 1500, 4500, 8, "ring", 6}});
  writer.note("one of two");
  writer.close_array();
  std::string names;
  for (const Json& event : parse_json(text(), "t.json")) {
    if (event["name"] == "process_name") names += event["args"]["name"].get<std::string>() + ";";
    if (event["name"] == "note") names += event["args"]["name"].get<std::string>() + ";";
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event.dump(), R"({"name":"barrier","cat":"sample","ph":"X","ts":1.0,"dur":3.0,)"
                            R"("pid":1,"tid":0,"args":{"sample":6,"bytes":8,"algorithm":"ring"}})");
  }
  EXPECT_EQ(names, "rank 0;rank 1;one of two;");
}

TEST_F(Timeline, puts_the_parent_first_when_both_begin_together) {
  TimelineWriter::create(file);
  TimelineWriter writer(file, 0, 0, {"compute"});
  writer.append(
      {bar("child", 10, 20), bar("empty", 10, 10), bar("parent", 10, 30), bar("before", 5, 6)});
  writer.close_array();
  std::vector<std::string> names;
  for (const Json& event : parse_json(text(), "t.json"))
    if (event["ph"] == "X") names.push_back(event["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"before", "parent", "child", "empty"}));
}

}  // namespace
}  // namespace commtune
