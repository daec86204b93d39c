#include "transports/placement.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "jobs.hpp"
#include "transports/processors.hpp"

namespace commtune::test {
namespace {

bool suffice(std::vector<std::vector<int>> usable) { return processors_suffice(usable); }

TEST(Processors, suffice_when_every_rank_can_have_its_own) {
  EXPECT_TRUE(suffice({}));
  EXPECT_TRUE(suffice({{0}, {1}}));
  EXPECT_TRUE(suffice({{0, 1}, {0, 1}}));
  EXPECT_TRUE(suffice({{0, 1}, {0}, {1, 2}}));  // the first has to move twice
  EXPECT_TRUE(suffice({{0, 1, 2}, {0, 1}, {0}}));
}

TEST(Processors, do_not_suffice_when_two_have_only_the_same) {
  EXPECT_FALSE(suffice({{0}, {0}}));
  EXPECT_FALSE(suffice({{0}, {0}, {1, 2, 3}}));  // as many processors as ranks, but not for each
  EXPECT_FALSE(suffice({{0, 1}, {0, 1}, {0, 1}, {2, 3}}));
  EXPECT_FALSE(suffice({{}}));
}

std::vector<std::string> texts(const std::vector<RankPlacement>& ranks) {
  std::vector<std::string> found;
  for (const PlacementFinding& each : judge_placement(ranks)) {
    found.push_back(each.flag + ": " + each.text);
  }
  return found;
}

TEST(PlacementFindings, are_none_for_ranks_with_processors_and_memory_of_their_own) {
  EXPECT_EQ(texts({{"a", {0}, {0}, {}}, {"a", {1}, {0}, {0}}, {"b", {0}, {0}, {}}}),
            std::vector<std::string>{});
  EXPECT_EQ(texts({{"a", {0, 1}, {0}, {}}, {"a", {0, 1}, {0}, {}}}), std::vector<std::string>{});
  EXPECT_EQ(texts({{"a", {0, 9}, {0, 1}, {1}}}), std::vector<std::string>{});
}

TEST(PlacementFindings, name_ranks_that_a_launcher_bound_to_one_processor) {
  EXPECT_EQ(
      texts(
          {{"a", {0}, {0}, {}}, {"b", {0}, {0}, {}}, {"a", {0}, {0}, {}}, {"a", {1, 2}, {0}, {}}}),
      (std::vector<std::string>{
          "shared_processors: ranks 0, 2 may only use processor 0 of a, together"}));
}

TEST(PlacementFindings, leave_a_host_without_more_processors_to_the_flag_oversubscribed) {
  EXPECT_EQ(texts({{"a", {0, 1}, {0}, {}}, {"a", {0, 1}, {0}, {}}, {"a", {0, 1}, {0}, {}}}),
            std::vector<std::string>{});
}

TEST(PlacementFindings, name_memory_on_another_numa_node) {
  EXPECT_EQ(texts({{"a", {4, 5}, {1}, {1}}, {"a", {0, 1}, {0}, {1, 2}}}),
            (std::vector<std::string>{"numa_mismatch: rank 1 runs on NUMA node 0 of a, its memory "
                                      "is bound to node 1, 2"}));
}

TEST(Placement, of_this_thread_is_what_the_kernel_says) {
  const RankPlacement own = own_rank_placement("here");
  EXPECT_EQ(own.host, "here");
  EXPECT_EQ(own.processors, usable_processors());
  EXPECT_FALSE(own.numa_nodes.empty());
}

TEST(Crowding, of_ranks_that_were_bound_to_one_processor_is_seen) {
  const int first = usable_processors().front();
  LaunchOptions options;
  options.transport = "shm";
  options.bind = fmt::format("{},{}", first, first);
  const Outcome outcome = run_job(
      options, [](Job& job) { return job.transport.crowded() ? 0 : exit_measured_failure; });
  EXPECT_EQ(outcome.status, 0) << "two ranks on processor " << first << " do not yield";
}

}  // namespace
}  // namespace commtune::test
