#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "programs.hpp"

namespace commtune {
namespace {

std::string identifier(const Algorithm& algorithm) {
  return std::string(name(algorithm.collective)) + "_" + std::string(algorithm.name);
}

TEST(Registry, lists_exactly_the_files_of_the_folder) {
  std::set<std::string> files, listed;
  for (const auto& entry : std::filesystem::directory_iterator(COMMTUNE_ALGORITHMS_FOLDER)) {
    if (entry.path().extension() == ".cpp" && entry.path().stem() != "registry") {
      files.insert(entry.path().stem());
    }
  }
  for (const Algorithm* algorithm : algorithms()) listed.insert(identifier(*algorithm));
  EXPECT_EQ(files, listed);
  EXPECT_EQ(listed.size(), algorithms().size());
}

TEST(Registry, is_sorted_and_described) {
  const auto before = [](const Algorithm* a, const Algorithm* b) {
    return a->collective != b->collective ? a->collective < b->collective : a->name < b->name;
  };
  EXPECT_TRUE(std::is_sorted(algorithms().begin(), algorithms().end(), before));
  for (const Algorithm* algorithm : algorithms()) EXPECT_FALSE(algorithm->summary.empty());
}

TEST(Registry, every_collective_has_an_algorithm) {
  for (const Collective collective : all_collectives()) {
    EXPECT_TRUE(std::any_of(algorithms().begin(), algorithms().end(), [&](const Algorithm* each) {
      return each->collective == collective;
    })) << name(collective);
  }
}

TEST(FindAlgorithm, names_the_known_ones) {
  EXPECT_EQ(find_algorithm(Collective::barrier, "dissemination", "--algorithm").name,
            "dissemination");
  EXPECT_EQ(usage_error([] { find_algorithm(Collective::broadcast, "ring", "--algorithm"); }),
            "--algorithm: unknown algorithm broadcast/ring; known: binomial, scatter_allgather");
}

TEST(Generators, give_equal_schedules_for_equal_arguments) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {1, 2, 5, 8}) {
      for (const VerifyCase& task : verify_cases(*algorithm, size)) {
        const auto first = generate_all(*algorithm, task.shape, task.params);
        const auto second = generate_all(*algorithm, task.shape, task.params);
        for (std::size_t rank = 0; rank < first.size(); ++rank) {
          EXPECT_TRUE(first[rank] == second[rank]) << identifier(*algorithm) << " P=" << size;
        }
      }
    }
  }
}

TEST(Generators, read_only_the_tunables_they_declare) {
  for (const Algorithm* algorithm : algorithms()) {
    const Shape shape{1, 5, 0, false};
    const auto reads = [&](std::string_view knob) {
      return algorithm->tunables.find(knob) != std::string_view::npos;
    };
    const Schedule plain = algorithm->generate(shape, {1, 2});
    EXPECT_EQ(algorithm->generate(shape, {4, 2}) == plain, !reads("segments"))
        << identifier(*algorithm);
    EXPECT_EQ(algorithm->generate(shape, {1, 4}) == plain, !reads("radix"))
        << identifier(*algorithm);
  }
}

}  // namespace
}  // namespace commtune
