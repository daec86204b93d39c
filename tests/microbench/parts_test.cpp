#include <gtest/gtest.h>

#include "core/error.hpp"
#include "microbench/benchmark.hpp"
#include "microbench/choice.hpp"
#include "microbench/cold.hpp"
#include "microbench/context.hpp"
#include "microbench/nodes.hpp"
#include "microbench/off_node.hpp"
#include "microbench/rotation.hpp"

namespace commtune {
namespace {

TEST(NodeMap, numbers_nodes_by_their_first_rank_and_finds_the_fullest) {
  const NodeMap map = map_nodes({"b", "a", "b", "b", "c"});
  EXPECT_EQ(map.node_of, (std::vector<int>{0, 1, 0, 0, 2}));
  EXPECT_EQ(map.nodes, 3);
  EXPECT_EQ(map.largest, 3);
}

TEST(ColdPlan, rotates_large_buffers_until_they_exceed_twice_the_cache) {
  const ColdPlan plan = plan_cold(1 << 20, 4 << 20, 1 << 20, 2, std::uint64_t{1} << 30);
  EXPECT_EQ(plan.pairs, 9U);
  EXPECT_EQ(plan.sweep_bytes, 0U);
}

TEST(ColdPlan, sweeps_when_small_buffers_cannot_fill_the_cache) {
  const ColdPlan plan = plan_cold(64, 4 << 20, 1 << 20, 2, std::uint64_t{1} << 30);
  EXPECT_EQ(plan.pairs, 64U);
  EXPECT_EQ(plan.sweep_bytes, std::size_t{4} << 20);
}

TEST(ColdPlan, sweeps_when_memory_allows_too_few_pairs) {
  const ColdPlan plan = plan_cold(1 << 20, 32 << 20, 1 << 20, 1, 3 << 20);
  EXPECT_EQ(plan.pairs, 3U);
  EXPECT_EQ(plan.sweep_bytes, std::size_t{64} << 20);
}

TEST(Pattern, finds_exactly_the_bytes_that_differ) {
  std::vector<std::byte> data(1000);
  fill_pattern(data, 7, 3);
  EXPECT_EQ(check_pattern(data, 7, 3).wrong, 0U);
  data[998] ^= std::byte{1};
  data[12] ^= std::byte{255};
  const PatternResult result = check_pattern(data, 7, 3);
  EXPECT_EQ(result.wrong, 2U);
  EXPECT_EQ(result.first_index, 12U);
  EXPECT_EQ(result.got, result.expected ^ 255);
}

TEST(Pattern, notices_stale_foreign_and_shifted_data) {
  std::vector<std::byte> data(256);
  fill_pattern(data, 1, 0);
  EXPECT_GT(check_pattern(data, 2, 0).wrong, 200U);
  EXPECT_GT(check_pattern(data, 1, 1).wrong, 200U);
  EXPECT_GT(check_pattern(std::span(data).subspan(1), 1, 0).wrong, 200U);
}

TEST(OffNodeBytes, counts_only_sends_that_leave_the_node) {
  const Algorithm& ring = find_algorithm(Collective::allgather, "ring", "test");
  const NodeMap two_nodes = map_nodes({"a", "a", "b", "b"});
  std::uint64_t total = 0;
  for (Rank rank = 0; rank < 4; ++rank) {
    total += off_node_bytes(ring, Shape{rank, 4, 0, false}, Params{}, 10, 4, two_nodes);
  }
  // In a ring of four over two nodes two ranks send across, three parts each.
  EXPECT_EQ(total, 2U * 3U * 40U);
  const NodeMap one_node = map_nodes({"a", "a", "a", "a"});
  EXPECT_EQ(off_node_bytes(ring, Shape{1, 4, 0, false}, Params{}, 10, 4, one_node), 0U);
}

TEST(CheckSummary, keeps_the_greatest_distance_and_the_first_wrong_element) {
  CheckSummary summary;
  summary.add(0, 0.0, "unused");
  EXPECT_EQ(summary.max_ulp, 0.0);
  EXPECT_EQ(summary.first, "");
  summary.add(2, 7.0, "element 3");
  summary.add(1, 4.0, "element 1");
  EXPECT_EQ(summary.iterations, 3U);
  EXPECT_EQ(summary.wrong, 3U);
  EXPECT_EQ(summary.max_ulp, 7.0);
  EXPECT_EQ(summary.first, "iteration 1, element 3");
  summary.add(1, std::nullopt, "element 1");
  summary.add(1, 2.0, "element 1");
  EXPECT_EQ(summary.max_ulp, std::nullopt);
}

TEST(Benchmarks, unknown_name_lists_the_valid_ones) {
  try {
    find_benchmark("alreduce", "TEST");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::usage);
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("TEST 'alreduce'", 0), 0U) << text;
    for (const Benchmark* benchmark : benchmarks()) {
      EXPECT_NE(text.find(benchmark->name), std::string::npos) << text;
    }
  }
}

TEST(AlgorithmNames, unknown_name_lists_the_valid_ones) {
  EXPECT_NO_THROW(require_algorithm_name("ring", "--algorithm"));
  EXPECT_NO_THROW(require_algorithm_name("native", "--algorithm"));
  for (const char* wrong : {"", "rign", "Ring", "ring "}) {
    EXPECT_THROW(require_algorithm_name(wrong, "--algorithm"), Error) << wrong;
  }
}

}  // namespace
}  // namespace commtune
