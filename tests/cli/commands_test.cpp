#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/types.hpp"
#include "program.hpp"

namespace commtune {
namespace {

TEST(List, every_subject_is_an_array_of_named_objects) {
  for (const char* subject : {"tests", "collectives", "algorithms", "transports", "devices",
                              "models", "strategies", "formats", "dtypes", "ops"}) {
    const ProcessResult run = commtune_program({"list", subject, "--json"});
    ASSERT_EQ(run.status, 0) << subject << run.err;
    const Json items = parse_json(run.out, subject);
    ASSERT_TRUE(items.is_array()) << subject;
    for (const Json& item : items) EXPECT_TRUE(item.at("name").is_string()) << subject;
    EXPECT_EQ(commtune_program({"list", subject}).status, 0) << subject;
  }
  const ProcessResult wrong = commtune_program({"list", "algoritms"});
  EXPECT_EQ(wrong.status, exit_usage);
  EXPECT_NE(wrong.err.find("algorithms"), std::string::npos);
}

TEST(List, algorithms_say_what_they_need_and_cost) {
  const ProcessResult run = commtune_program({"list", "algorithms", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json items = parse_json(run.out, "list");
  EXPECT_GE(items.size(), 40U);
  std::map<std::string, Json> by_name;
  for (const Json& item : items) {
    const std::string name = item.at("name").get<std::string>();
    EXPECT_EQ(name, item.at("collective").get<std::string>() + "/" +
                        item.at("algorithm").get<std::string>());
    EXPECT_NE(item.at("summary"), "") << name;
    EXPECT_NE(item.at("cost"), "") << name;
    EXPECT_TRUE(item.at("needs").is_string()) << name;
    EXPECT_EQ(item.at("tunables").size(), item.at("parameters").size()) << name;
    for (const Json& knob : item.at("tunables")) {
      EXPECT_TRUE(item.at("parameters").contains(knob.get<std::string>())) << name;
    }
    for (const Json& refused : item.at("refused_at")) {
      EXPECT_GE(refused.at("ranks").get<int>(), 1) << name;
      EXPECT_LE(refused.at("ranks").get<int>(), 16) << name;
      EXPECT_NE(refused.at("reason"), "") << name;
    }
    const bool reduces_data =
        reduces(parse_collective(item.at("collective").get<std::string>(), "collective"));
    EXPECT_EQ(item.at("keeps_rank_order").is_boolean(), reduces_data) << name;
    by_name[name] = item;
  }
  EXPECT_EQ(by_name.at("allreduce/ring").at("parameters"),
            (Json{{"segments", 1}, {"channels", 1}}));
  EXPECT_EQ(by_name.at("allreduce/ring").at("keeps_rank_order"), false);
  EXPECT_EQ(by_name.at("reduce/linear").at("keeps_rank_order"), true);
  EXPECT_EQ(by_name.at("allgather/ring").at("keeps_rank_order"), nullptr);
  EXPECT_EQ(by_name.at("allgather/ring").at("refused_at"), Json::array());
  EXPECT_EQ(by_name.at("allgather/neighbor_exchange").at("refused_at").at(0),
            (Json{{"ranks", 3}, {"reason", "3 ranks do not form pairs"}}));
  const ProcessResult text = commtune_program({"list", "algorithms"});
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.out.begin(), text.out.end(), '\n')),
            items.size());
}

TEST(List, collectives_are_all_there_with_their_algorithms) {
  const ProcessResult run = commtune_program({"list", "collectives", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json items = parse_json(run.out, "list");
  ASSERT_EQ(items.size(), all_collectives().size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].at("name"), name(all_collectives()[i]));
    EXPECT_NE(items[i].at("summary"), "") << items[i].at("name");
  }
}

TEST(Info, tells_topology_transports_libraries_limits_and_build) {
  const ProcessResult run = commtune_program({"info", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json info = parse_json(run.out, "info");
  for (const char* part : {"topology", "transports", "libraries", "launcher", "limits", "build"}) {
    EXPECT_TRUE(info.at(part).is_object()) << part;
  }
  EXPECT_GE(info.at("topology").at("allowed_processors").get<int>(), 1);
  EXPECT_EQ(info.at("transports").at("shm"), "available");
  EXPECT_EQ(commtune_program({"info"}).status, 0);
}

TEST(Verify, proves_and_its_faults_are_rejected) {
  const ProcessResult run =
      commtune_program({"verify", "allreduce/ring", "--ranks", "1:5", "--mutations", "20"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("allreduce/ring"), std::string::npos);
  EXPECT_NE(run.out.find("proved"), std::string::npos);
  EXPECT_NE(run.out.find("rejected"), std::string::npos);
}

TEST(Verify, tells_whether_the_order_of_ranks_is_kept) {
  const ProcessResult run = commtune_program({"verify", "reduce", "--ranks", "1:5", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<std::string, Json> by_name;
  for (const Json& item : parse_json(run.out, "verify")) {
    EXPECT_EQ(item.at("status"), "proved") << item;
    by_name[item.at("name").get<std::string>()] = item.at("keeps_order");
  }
  EXPECT_EQ(by_name.at("reduce/linear"), true);
  EXPECT_EQ(by_name.at("reduce/double_binary_tree"), false);
  const ProcessResult text = commtune_program({"verify", "allreduce/ring", "--ranks", "5"});
  EXPECT_NE(text.out.find("needs a commutative operator"), std::string::npos) << text.out;
}

TEST(Verify, exports_programs) {
  const ProcessResult text =
      commtune_program({"verify", "allgather/ring", "--export", "text", "--ranks", "3"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("rank 2 step 0"), std::string::npos) << text.out;
  const ProcessResult graph =
      commtune_program({"verify", "allgather/ring", "--export", "graphviz", "--ranks", "3"});
  ASSERT_EQ(graph.status, 0) << graph.err;
  EXPECT_NE(graph.out.find("digraph"), std::string::npos) << graph.out;
}

TEST(Verify, bad_arguments_end_with_2) {
  const std::vector<std::vector<std::string>> bad{
      {"alreduce"},         {"allreduce/rign"},    {"--ranks", "0"},
      {"--ranks", "8:4"},   {"--mutations", "-1"}, {"--export", "svg", "--ranks", "2"},
      {"--export", "text"}, {"allreduce/"},        {"--ranks", ""}};
  for (auto arguments : bad) {
    arguments.insert(arguments.begin(), "verify");
    const ProcessResult run = commtune_program(arguments);
    EXPECT_EQ(run.status, exit_usage) << arguments.back() << run.err;
    EXPECT_EQ(run.out, "");
  }
}

}  // namespace
}  // namespace commtune
