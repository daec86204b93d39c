#include <gtest/gtest.h>
#include <set>

#include "collectives/schedule/mutate.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

TEST(Mutate, every_fault_is_rejected) {
  std::size_t applied = 0;
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {2, 3, 5, 7, 8, 13}) {
      const MutationReport report = mutation_test(*algorithm, size, 200, 1);
      const bool refused = verify_cases(*algorithm, size).empty();
      EXPECT_EQ(report.applied, refused ? 0U : 200U) << algorithm->name << " P=" << size;
      EXPECT_EQ(report.rejected, report.applied);
      EXPECT_EQ(report.survivors, std::vector<std::string>{});
      applied += report.applied;
    }
  }
  EXPECT_GE(applied, algorithms().size() * 4 * 200);
}

TEST(Mutate, is_a_pure_function_of_the_seed_and_changes_something) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
  const auto original = generate_all(ring, {0, 5, 0, false}, {3, 2});
  std::size_t applied = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto first = original, second = original;
    const std::string done = mutate(first, seed);
    EXPECT_EQ(mutate(second, seed), done);
    EXPECT_TRUE(first == second);
    EXPECT_EQ(first == original, done.empty()) << done;
    if (!done.empty()) ++applied;
  }
  EXPECT_GT(applied, 100U);
}

TEST(Mutate, draws_many_kinds_of_faults_that_fail_in_every_way) {
  std::set<Violation::Kind> kinds;
  std::set<std::string> verbs;
  const Algorithm& direct = find_algorithm(Collective::allreduce, "rabenseifner", "test");
  const auto original = generate_all(direct, {0, 6, 0, false}, {});
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    auto broken = original;
    const std::string done = mutate(broken, seed);
    if (done.empty()) continue;
    std::string verb;
    for (const char letter : done) {
      if (letter < '0' || letter > '9') verb += letter;
      if (letter == ':') break;
    }
    verbs.insert(verb);
    const auto found = verify(Collective::allreduce, 0, false, broken);
    ASSERT_NE(found, std::nullopt) << done;
    kinds.insert(found->kind);
  }
  EXPECT_GE(verbs.size(), 12U);
  EXPECT_GE(kinds.size(), 6U);
}

TEST(Mutate, breaks_messages_of_several_runs) {
  std::set<std::string> verbs;
  const Algorithm& bruck = find_algorithm(Collective::alltoall, "bruck", "test");
  const auto original = generate_all(bruck, {0, 7, 0, false}, {});
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    auto broken = original;
    const std::string done = mutate(broken, seed);
    if (done.empty()) continue;
    EXPECT_NE(verify(Collective::alltoall, 0, false, broken), std::nullopt) << done;
    for (const std::string verb :
         {"travels alone", "travels with the next one", "a run of a message", "exchanged runs"}) {
      if (done.find(verb) != std::string::npos) verbs.insert(verb);
    }
  }
  EXPECT_GE(verbs.size(), 3U);
}

TEST(Mutate, reports_a_fault_that_the_verifier_lets_pass) {
  // An algorithm with a superfluous copy: dropping it is no fault, so it must show up as a
  // survivor.
  const Algorithm wasteful{.collective = Collective::allreduce,
                           .name = "wasteful",
                           .generate =
                               +[](const Shape& shape, const Params&) {
                                 ScheduleBuilder builder(Collective::allreduce, shape, 1);
                                 builder.copy(in(0), out(0));
                                 builder.copy(out(0), tmp(0, 0));
                                 builder.copy(tmp(0, 0), out(0));
                                 return std::move(builder).finish();
                               },
                           .tunables = "",
                           .summary = "",
                           .cost = ""};
  const MutationReport report = mutation_test(wasteful, 1, 50, 1);
  EXPECT_EQ(report.applied, 50U);
  EXPECT_EQ(report.applied, report.rejected + report.survivors.size());
  ASSERT_FALSE(report.survivors.empty());
  EXPECT_EQ(report.survivors[0].rfind("allreduce/wasteful P=1 root=0", 0), 0U);
}

}  // namespace
}  // namespace commtune
