#include <map>
#include <sstream>

#include "collectives/exchange/export_formats.hpp"
#include "collectives/exchange/import.hpp"
#include "support.hpp"

namespace commtune::test {
namespace {

bool in_msccl(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::allgather ||
         collective == Collective::reduce_scatter || collective == Collective::alltoall;
}

TEST(MscclExport, every_algorithm_comes_back_proved) {
  for (const Algorithm* algorithm : algorithms()) {
    if (!in_msccl(algorithm->collective)) continue;
    for (Rank size = 1; size <= 9; ++size) {
      for (const bool in_place : {false, true}) {
        const Shape shape{0, size, 0, in_place};
        if (!refusal(*algorithm, shape, {}).empty()) continue;
        const auto xml = to_msccl(generate_all(*algorithm, shape, {}), algorithm->collective,
                                  in_place, algorithm->name);
        const auto back = import_msccl(xml, fmt::format("{} P={}", algorithm->name, size));
        EXPECT_EQ(back.collective, algorithm->collective);
        EXPECT_EQ((in_place ? back.in_place : back.out_of_place).size(),
                  static_cast<std::size_t>(size));
      }
    }
  }
}

TEST(MscclExport, refuses_what_the_format_cannot_say) {
  const Algorithm& barrier = find_algorithm(Collective::barrier, "dissemination", "test");
  const auto schedules = generate_all(barrier, {0, 3, 0, false}, {});
  expect_contains(
      error_of([&] { to_msccl(schedules, Collective::barrier, false, "b"); }, Errc::usage),
      "msccl: barrier has no MSCCL program");
}

/// What a GOAL program does when every statement runs as soon as what it requires has finished.
class GoalRun {
 public:
  explicit GoalRun(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) read(line);
  }
  /// True when everything finished, every message was received and had the length sent.
  bool finishes() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [id, statement] : statements_) moved = run(id, statement) || moved;
    }
    std::size_t done = 0;
    for (const auto& [id, statement] : statements_) done += statement.done ? 1 : 0;
    return done == statements_.size() && under_way_.empty() && !statements_.empty();
  }
  std::size_t ranks = 0;
  std::uint64_t bytes_sent = 0;

 private:
  using Id = std::pair<int, std::string>;
  struct Statement {
    std::string kind = {}, bytes = {}, tag = {};
    int peer = -1;
    std::vector<std::string> needs = {};
    bool done = false;
  };

  void read(const std::string& line) {
    std::istringstream words(line);
    std::string first, second, word;
    words >> first >> second;
    if (first == "num_ranks") ranks = std::stoul(second);
    if (first == "rank") rank_ = std::stoi(second);
    if (second == "requires") {
      words >> word;
      statements_.at({rank_, first}).needs.push_back(word);
    } else if (first.back() == ':') {
      first.pop_back();
      Statement statement{.kind = second};
      words >> statement.bytes;
      if (second != "calc") words >> word >> statement.peer >> word >> statement.tag;
      statements_[{rank_, first}] = statement;
    }
  }
  bool run(const Id& id, Statement& statement) {
    if (statement.done) return false;
    for (const std::string& need : statement.needs) {
      if (!statements_.at({id.first, need}).done) return false;
    }
    if (statement.kind == "send") {
      under_way_.insert({{id.first, statement.peer, statement.tag}, statement.bytes});
      bytes_sent += std::stoull(statement.bytes);
    } else if (statement.kind == "recv") {
      const auto found = under_way_.find({statement.peer, id.first, statement.tag});
      if (found == under_way_.end() || found->second != statement.bytes) return false;
      under_way_.erase(found);
    }
    statement.done = true;
    return true;
  }

  int rank_ = -1;
  std::map<Id, Statement> statements_;
  std::multimap<std::tuple<int, int, std::string>, std::string> under_way_;
};

TEST(GoalExport, every_algorithm_runs_to_its_end) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {2, 5, 8}) {
      const Shape shape{0, size, 0, false};
      if (!refusal(*algorithm, shape, {}).empty()) continue;
      const auto text = to_goal(generate_all(*algorithm, shape, {}), algorithm->collective, {});
      GoalRun run(text);
      EXPECT_EQ(run.ranks, static_cast<std::size_t>(size));
      EXPECT_TRUE(run.finishes()) << algorithm->name << " P=" << size;
    }
  }
}

TEST(GoalExport, moves_as_many_bytes_as_the_schedule) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
  const auto schedules = generate_all(ring, {0, 4, 0, false}, {});
  GoalRun run(to_goal(schedules, Collective::allreduce, {.part_bytes = 4096}));
  EXPECT_TRUE(run.finishes());
  EXPECT_EQ(run.bytes_sent, 2U * 3U * 4096U);
}

TEST(GoalExport, a_run_without_a_message_is_noticed) {
  std::string text = to_goal(
      generate_all(find_algorithm(Collective::broadcast, "binomial", "test"), {0, 2, 0, false}, {}),
      Collective::broadcast, {.part_bytes = 8});
  EXPECT_TRUE(GoalRun(text).finishes());
  const auto at = text.find("send 8b to 1 tag 0");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 18, "send 8b to 1 tag 1");
  EXPECT_FALSE(GoalRun(text).finishes());
}

}  // namespace
}  // namespace commtune::test
