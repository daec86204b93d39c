#include "collectives/schedule/cost.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

// Powers of two, so that every sum below is exact.
constexpr Network network{2, 0x1p-10, 0x1p-12};
constexpr double alpha = network.alpha_us, beta = network.beta_us_per_byte,
                 gamma = network.gamma_us_per_byte;
constexpr std::size_t element = 4;

Estimate cost_of(Collective collective, std::string_view name, Rank size, std::uint64_t count,
                 std::uint32_t segments = 1, Rank root = 0) {
  return estimate(find_algorithm(collective, name, "test"), {0, size, root, false}, {segments, 2},
                  count, element, network);
}

TEST(Estimate, ring_allreduce_matches_its_closed_form) {
  for (const Rank size : {2, 3, 5, 8, 13}) {
    const auto ranks = static_cast<std::uint64_t>(size);
    const double steps = size - 1, chunk = 1024 * element;
    const Estimate estimate = cost_of(Collective::allreduce, "ring", size, ranks * 1024);
    EXPECT_EQ(estimate.microseconds,
              2 * steps * alpha + 2 * steps * chunk * beta + steps * chunk * gamma);
    EXPECT_EQ(estimate.messages, 2 * (ranks - 1) * ranks);
    EXPECT_EQ(estimate.bytes, 2 * (ranks - 1) * ranks * 1024 * element);
  }
}

TEST(Estimate, recursive_doubling_matches_its_closed_form) {
  for (const int log : {1, 2, 3, 5}) {
    const double n = 4096 * element;
    EXPECT_EQ(cost_of(Collective::allreduce, "recursive_doubling", 1 << log, 4096).microseconds,
              log * (alpha + n * beta + n * gamma));
  }
}

TEST(Estimate, rabenseifner_matches_its_closed_form) {
  for (const int log : {1, 2, 3, 5}) {
    const double moved = 4096 * element * (1 - 1.0 / (1 << log));
    EXPECT_EQ(cost_of(Collective::allreduce, "rabenseifner", 1 << log, 4096).microseconds,
              2 * log * alpha + 2 * moved * beta + moved * gamma);
  }
}

TEST(Estimate, binomial_broadcast_matches_its_closed_form) {
  for (const int log : {1, 2, 3, 5}) {
    const double n = 4096 * element;
    EXPECT_EQ(cost_of(Collective::broadcast, "binomial", 1 << log, 4096, 1, 1).microseconds,
              log * (alpha + n * beta));
  }
  EXPECT_EQ(cost_of(Collective::broadcast, "binomial", 5, 0).microseconds, 3 * alpha);
}

TEST(Estimate, ring_allgather_and_reduce_scatter_match_their_closed_forms) {
  for (const Rank size : {2, 3, 7}) {
    const double m = 512 * element, steps = size - 1;
    EXPECT_EQ(cost_of(Collective::allgather, "ring", size, 512).microseconds,
              steps * (alpha + m * beta));
    EXPECT_EQ(cost_of(Collective::reduce_scatter, "ring", size, 512).microseconds,
              steps * (alpha + m * beta + m * gamma));
  }
}

TEST(Estimate, direct_allreduce_pays_for_one_port) {
  const double n = 256 * element;
  const Estimate estimate = cost_of(Collective::allreduce, "direct", 4, 256);
  EXPECT_GE(estimate.microseconds, 3 * (alpha + n * beta));
  EXPECT_LE(estimate.microseconds, 3 * (alpha + n * beta + n * gamma));
}

TEST(Estimate, dissemination_barrier_costs_one_latency_per_round) {
  const Estimate estimate = cost_of(Collective::barrier, "dissemination", 13, 0);
  EXPECT_EQ(estimate.microseconds, 4 * alpha);
  EXPECT_EQ(estimate.bytes, 0U);
  EXPECT_EQ(estimate.messages, 4U * 13);
}

TEST(Estimate, segments_pay_latency_for_overlap) {
  constexpr std::uint64_t n = 1 << 20;
  const double whole = cost_of(Collective::broadcast, "binomial", 2, n / element).microseconds;
  const double cut = cost_of(Collective::broadcast, "binomial", 2, n / element, 4).microseconds;
  EXPECT_EQ(cut, whole + 3 * alpha);
  const auto ring = [&](std::uint32_t segments) {
    return cost_of(Collective::allreduce, "ring", 4, (1 << 20) / element, segments).microseconds;
  };
  EXPECT_LT(ring(4), ring(1));  // the sum of one segment hides behind the transfer of the next
}

TEST(Estimate, pairwise_alltoall_matches_its_closed_form) {
  for (const Rank size : {2, 4, 8}) {
    const double m = 256 * element, steps = size - 1;
    const Estimate estimate = cost_of(Collective::alltoall, "pairwise", size, 256);
    EXPECT_EQ(estimate.microseconds, steps * (alpha + m * beta));
    EXPECT_EQ(estimate.bytes,
              static_cast<std::uint64_t>(steps) * 256 * element * static_cast<std::uint64_t>(size));
  }
}

TEST(Estimate, several_runs_of_one_message_pay_one_latency) {
  const double m = 256 * element;
  const Estimate estimate = cost_of(Collective::alltoall, "bruck", 8, 256);
  EXPECT_EQ(estimate.messages, 3U * 8);
  EXPECT_EQ(estimate.microseconds, 3 * (alpha + 4 * m * beta));
}

TEST(Estimate, one_rank_costs_nothing) {
  for (const Algorithm* algorithm : algorithms()) {
    const Shape alone{0, 1, 0, false};
    if (!refusal(*algorithm, alone, {}).empty()) continue;  // of groups, for instance
    EXPECT_EQ(estimate(*algorithm, alone, {}, 8, element, network).microseconds, 0);
  }
}

}  // namespace
}  // namespace commtune
