#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/json.hpp"
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
