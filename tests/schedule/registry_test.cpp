#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "collectives/schedule/export.hpp"
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
  std::string known;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != Collective::broadcast) continue;
    known += (known.empty() ? "" : ", ") + std::string(algorithm->name);
  }
  EXPECT_EQ(usage_error([] { find_algorithm(Collective::broadcast, "none", "--algorithm"); }),
            "--algorithm: unknown algorithm broadcast/none; known: " + known);
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

std::string all_programs(const Algorithm& algorithm, Rank size, const Params& params) {
  const Shape shape{0, size, 0, false};
  if (!refusal(algorithm, shape, params).empty()) return "refused";
  std::string text;
  const auto schedules = generate_all(algorithm, shape, params);
  for (Rank rank = 0; rank < size; ++rank) {
    text += to_text(schedules[static_cast<std::size_t>(rank)], rank);
  }
  return text;
}

TEST(Generators, read_exactly_the_tunables_they_declare) {
  struct Knob {
    std::string_view name;
    std::uint32_t Params::*member;
    std::uint32_t other;
  };
  constexpr Knob knobs[] = {{"segments", &Params::segments, 4}, {"radix", &Params::radix, 3},
                            {"channels", &Params::channels, 2}, {"leaders", &Params::leaders, 2},
                            {"group", &Params::group, 3},       {"cluster", &Params::cluster, 2}};
  for (const Algorithm* algorithm : algorithms()) {
    for (const Knob& knob : knobs) {
      Params params;
      params.*knob.member = knob.other;
      bool reads = false;
      for (const Rank size : {5, 8, 9, 12}) {
        reads =
            reads || all_programs(*algorithm, size, params) != all_programs(*algorithm, size, {});
      }
      EXPECT_EQ(reads, algorithm->tunables.find(knob.name) != std::string_view::npos)
          << identifier(*algorithm) << " " << knob.name;
    }
  }
}

}  // namespace
}  // namespace commtune
