#include <algorithm>
#include <gtest/gtest.h>
#include <string_view>
#include <utility>

#include "programs.hpp"

namespace commtune {
namespace {

bool keeps_order(std::string_view name, Rank size, bool in_place) {
  Facts facts;
  const Algorithm& algorithm = find_algorithm(Collective::reduce_scatter, name, "test");
  EXPECT_EQ(verify(algorithm, {0, size, 0, in_place}, {}, &facts), std::nullopt) << name;
  return facts.keeps_order;
}

TEST(ReduceScatter, keeps_the_order_of_ranks_where_the_algorithm_says_so) {
  for (const Rank size : {2, 3, 5, 6, 8, 13}) {
    for (const bool in_place : {false, true}) {
      for (const auto* name :
           {"direct", "pairwise", "butterfly", "recursive_doubling", "reduce_then_scatter"}) {
        EXPECT_TRUE(keeps_order(name, size, in_place)) << name << " P=" << size;
      }
    }
  }
  EXPECT_FALSE(keeps_order("recursive_halving", 8, false));
  EXPECT_FALSE(keeps_order("circulant", 8, false));
}

std::size_t longest_message(const Schedule& schedule) {
  std::size_t longest = 0, length = 0;
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::send) continue;
    length += step.count;
    longest = std::max(longest, length);
    if (!step.joined) length = 0;
  }
  return longest;
}

TEST(Pat, bounds_the_parts_of_a_message_and_the_sums_in_scratch) {
  const Algorithm& gather = find_algorithm(Collective::allgather, "pat", "test");
  const Algorithm& scatter = find_algorithm(Collective::reduce_scatter, "pat", "test");
  for (const std::uint32_t parts : {1U, 2U, 8U, 16U}) {
    Params params;
    params.radix = parts;
    EXPECT_EQ(longest_message(gather.generate({3, 64, 0, false}, params)), parts);
    EXPECT_EQ(longest_message(scatter.generate({3, 64, 0, false}, params)), parts);
  }
  Params params;
  params.radix = 2;
  // Two parts in each of log2(64 / 2) levels, and two that are arriving.
  EXPECT_LE(scatter.generate({3, 64, 0, false}, params).slots, 2U * 5 + 2);
}

TEST(NeighborExchange, refuses_an_odd_number_of_ranks) {
  const Algorithm& algorithm = find_algorithm(Collective::allgather, "neighbor_exchange", "test");
  EXPECT_EQ(refusal(algorithm, {0, 7, 0, false}, {}), "7 ranks do not form pairs");
  EXPECT_EQ(refusal(algorithm, {0, 8, 0, false}, {}), "");
}

TEST(Pairwise, needs_scratch_for_two_blocks_in_place_and_none_out_of_place) {
  const Algorithm& algorithm = find_algorithm(Collective::alltoall, "pairwise", "test");
  for (const Rank size : {5, 6, 8}) {
    EXPECT_EQ(algorithm.generate({1, size, 0, true}, {}).slots, 2U);
    EXPECT_EQ(algorithm.generate({1, size, 0, false}, {}).slots, 0U);
  }
}

TEST(LimitInFlight, orders_each_message_after_the_one_so_many_before_it) {
  ScheduleBuilder builder(Collective::alltoall, {0, 5, 0, false}, 1);
  builder.limit_in_flight(2);
  for (Rank peer = 1; peer < 5; ++peer) {
    builder.send(peer, in(static_cast<std::uint32_t>(peer)));
    builder.recv(peer, out(static_cast<std::uint32_t>(5 * peer)));
  }
  const Schedule schedule = std::move(builder).finish();
  EXPECT_EQ(schedule.in_degrees, (std::vector<std::uint16_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(schedule.successors, (std::vector<StepId>{4, 5, 6, 7}));
}

TEST(LimitInFlight, counts_a_message_of_several_runs_once) {
  ScheduleBuilder builder(Collective::allgather, {0, 5, 0, false}, 1);
  builder.limit_in_flight(1);
  const Slice first[] = {out(1), out(3)}, second[] = {out(2), out(4)};
  builder.recv(1, first);
  builder.recv(2, second);
  const Schedule schedule = std::move(builder).finish();
  EXPECT_EQ(schedule.in_degrees, (std::vector<std::uint16_t>{0, 0, 1, 0}));
  EXPECT_EQ(schedule.first_successor, (std::vector<std::uint32_t>{0, 0, 1, 1, 1}));
}

TEST(FlatAlgorithms, take_a_radix_outside_the_proved_grid) {
  constexpr std::pair<Collective, std::string_view> radixed[] = {
      {Collective::allgather, "bruck"},
      {Collective::allgather, "pat"},
      {Collective::reduce_scatter, "pat"},
      {Collective::alltoall, "bruck"},
      {Collective::alltoall, "linear"}};
  for (const auto& [collective, name] : radixed) {
    const Algorithm& algorithm = find_algorithm(collective, name, "test");
    for (const std::uint32_t radix : {0U, 1U, 7U, 0xffffffffU}) {
      Params params;
      params.radix = radix;
      for (const Rank size : {1, 2, 7, 12}) {
        for (const bool in_place : {false, true}) {
          EXPECT_EQ(verify(algorithm, {0, size, 0, in_place}, params), std::nullopt)
              << name << " P=" << size << " radix=" << radix;
        }
      }
    }
  }
}

TEST(FlatAlgorithms, stay_small_at_4096_ranks) {
  for (const Algorithm* algorithm : built_in_algorithms()) {
    if (algorithm->collective != Collective::alltoall || algorithm->name.find("bruck") != 0) {
      continue;
    }
    for (const bool in_place : {false, true}) {
      const Schedule schedule = algorithm->generate({1234, 4096, 0, in_place}, {});
      const std::size_t bytes = schedule.steps.size() * sizeof(Step) +
                                schedule.successors.size() * sizeof(StepId) +
                                schedule.first_successor.size() * sizeof(std::uint32_t) +
                                schedule.in_degrees.size() * sizeof(std::uint16_t);
      EXPECT_LE(bytes, std::size_t{4} << 20U);
    }
  }
}

}  // namespace
}  // namespace commtune
