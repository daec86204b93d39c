#include <algorithm>
#include <gtest/gtest.h>

#include "collectives/schedule/prove.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

using Kind = Violation::Kind;

/// Every rank sends its vector to the other one and adds what arrives: right out of place.
void exchange(ScheduleBuilder& builder, Rank rank) {
  builder.send(1 - rank, in(0));
  builder.recv(1 - rank, tmp(0, 0));
  builder.reduce(in(0), tmp(0, 0), out(0));
}
std::vector<Schedule> exchange_programs() {
  return programs(Collective::allreduce, 2, false, 1, exchange);
}
std::string detail_of(const std::vector<Schedule>& schedules, Kind kind,
                      Collective collective = Collective::allreduce, bool in_place = false) {
  const auto found = verify(collective, 0, in_place, schedules);
  if (!found) return "accepted";
  return found->kind == kind ? found->detail
                             : std::string(name(found->kind)) + ": " + found->detail;
}

TEST(Verify, proves_every_algorithm_up_to_64_ranks) {
  std::vector<int> sizes;
  for (int size = 1; size <= 64; ++size) sizes.push_back(size);
  const ProofReport report = prove(algorithms(), sizes);
  EXPECT_TRUE(report.proved());
  ASSERT_EQ(report.algorithms.size(), algorithms().size());
  for (const AlgorithmProof& proof : report.algorithms) {
    EXPECT_EQ(proof.failure, std::nullopt);
    EXPECT_EQ(proof.untried, std::nullopt);
    EXPECT_GE(proof.cases, 30U) << proof.algorithm->name;
    EXPECT_GT(proof.messages, 0U);
  }
}

TEST(VerifyCases, cover_roots_placements_and_tunables) {
  const Algorithm& tree = find_algorithm(Collective::broadcast, "knomial", "test");
  ASSERT_EQ(tree.tunables, "segments,radix");
  EXPECT_EQ(verify_cases(tree, 8).size(), 2U * 8 * 2 * 3);  // everything
  const auto has = [&](Rank size, bool in_place, Rank root, std::uint32_t segments,
                       std::uint32_t radix) {
    const auto cases = verify_cases(tree, size);
    return std::any_of(cases.begin(), cases.end(), [&](const VerifyCase& each) {
      return each.shape.in_place == in_place && (root < 0 || each.shape.root == root) &&
             (segments == 0 || each.params.segments == segments) &&
             (radix == 0 || each.params.radix == radix);
    });
  };
  for (const bool in_place : {false, true}) {
    for (const Rank root : {0, 16, 32}) EXPECT_TRUE(has(33, in_place, root, 0, 0));
    for (const std::uint32_t radix : {2U, 3U, 4U}) EXPECT_TRUE(has(33, in_place, -1, 0, radix));
  }
  EXPECT_LT(verify_cases(tree, 33).size(), 2U * 3 * 2 * 3);
  for (const Rank root : {0, 64, 128}) {
    EXPECT_TRUE(has(129, false, root, 0, 0) || has(129, true, root, 0, 0));
  }
  EXPECT_LT(verify_cases(tree, 129).size(), verify_cases(tree, 33).size());
}

TEST(Verify, accepts_a_plain_exchange) {
  EXPECT_EQ(verify(Collective::allreduce, 0, false, exchange_programs()), std::nullopt);
}

TEST(Verify, rejects_an_in_place_exchange_that_receives_over_its_input) {
  const auto naive = [](Rank size) {
    return [size](ScheduleBuilder& builder, Rank rank) {
      builder.send((rank + 1) % size, in(0));
      builder.recv((rank + size - 1) % size, out(0));
    };
  };
  for (const Rank size : {2, 3, 4, 5}) {
    const auto schedules = programs(Collective::allreduce, size, true, 1, naive(size));
    const auto found = verify(Collective::allreduce, 0, true, schedules);
    ASSERT_NE(found, std::nullopt);
    EXPECT_EQ(found->kind, Kind::deadlock);
  }
}

TEST(Verify, names_the_step_that_does_not_exist) {
  auto schedules = exchange_programs();
  schedules[1].steps[1].dst_slot = 1;
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 1 step 1: recv from 0 into scratch[1] blocks 0..0: there are 1 scratch slots");
  schedules = exchange_programs();
  schedules[0].steps[0].first = 1;
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 0 step 0: send to 1 from input blocks 1..1: the buffer holds 1 blocks from 0");
  schedules = exchange_programs();
  schedules[0].steps[0].peer = 2;
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 0 step 0: send to 2 from input blocks 0..0: rank 2 is not another rank of 2");
  schedules = exchange_programs();
  schedules[0].steps[2].count = 0;
  EXPECT_EQ(
      detail_of(schedules, Kind::malformed),
      "rank 0 step 2: reduce input and scratch[0] into output no blocks: a local step without "
      "blocks");
}

TEST(Verify, rejects_writes_into_the_callers_input) {
  auto schedules = exchange_programs();
  schedules[0].steps[2].dst = BufferId::input;
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 0 step 2: reduce input and scratch[0] into input blocks 0..0: writes into the "
            "caller's input");
}

TEST(Verify, rejects_edges_that_lead_back_and_wrong_in_degrees) {
  auto schedules = exchange_programs();
  set_edges(schedules[0], {{1, 2}, {2, 0}});
  EXPECT_EQ(
      detail_of(schedules, Kind::malformed),
      "rank 0 step 2: reduce input and scratch[0] into output blocks 0..0: its edge to step 0 "
      "does not point to a later step");
  schedules = exchange_programs();
  schedules[0].in_degrees[2] = 2;
  EXPECT_EQ(
      detail_of(schedules, Kind::malformed),
      "rank 0 step 2: reduce input and scratch[0] into output blocks 0..0: 1 edges lead here, "
      "its in-degree says 2");
  schedules = exchange_programs();
  schedules[1].first_successor.pop_back();
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 1: the edge arrays do not fit the number of steps");
}

TEST(Verify, rejects_programs_of_another_collective_or_shape) {
  EXPECT_NE(detail_of(exchange_programs(), Kind::malformed, Collective::allgather), "accepted");
  auto schedules = exchange_programs();
  schedules[1].space.blocks = 2;
  EXPECT_EQ(detail_of(schedules, Kind::malformed),
            "rank 1: its program has 2 blocks, rank 0's has 1");
}

TEST(Verify, rejects_a_message_without_its_other_end) {
  const auto schedules =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        exchange(builder, rank);
        if (rank == 1) builder.send(0, out(0));
      });
  EXPECT_EQ(detail_of(schedules, Kind::unmatched),
            "rank 1 step 3: send to 0 from output blocks 0..0: rank 0 has no matching recv");
}

TEST(Verify, rejects_a_message_whose_ends_name_different_blocks) {
  const auto schedules =
      programs(Collective::broadcast, 2, false, 2, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.copy(in(0, 2), out(0, 2));
        for (const std::uint32_t block : {0U, 1U}) {
          if (rank == 0) builder.send(1, in(block));
          if (rank == 1) builder.recv(0, out(1 - block));
        }
      });
  EXPECT_EQ(detail_of(schedules, Kind::size_mismatch, Collective::broadcast),
            "rank 1 step 0: recv from 0 into output blocks 1..1: its matching step 1 of rank 0 is: "
            "send to 1 from input blocks 0..0");
}

TEST(Verify, rejects_a_deadlock_and_says_who_waits_for_whom) {
  // Both wait for the other's data before they send their own.
  const auto schedules =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        builder.recv(1 - rank, tmp(0, 0));
        builder.reduce(in(0), tmp(0, 0), out(0));
        builder.fence();
        builder.send(1 - rank, in(0));
      });
  EXPECT_EQ(detail_of(schedules, Kind::deadlock),
            "rank 0 step 0: recv from 1 into scratch[0] blocks 0..0: never completes: rank 1 step "
            "2, the other end, waits for steps that cannot finish");
}

TEST(Verify, rejects_what_only_unbounded_windows_complete) {
  // Every rank sends to its right neighbour first but expects its left neighbour's data last.
  const auto schedules =
      programs(Collective::allgather, 3, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        const auto block = [](Rank of) { return static_cast<std::uint32_t>(of); };
        builder.copy(in(block(rank)), out(block(rank)));
        for (const Rank k : {1, 2}) builder.send((rank + k) % 3, in(block(rank)));
        for (const Rank k : {2, 1}) {
          builder.recv((rank + 3 - k) % 3, out(block((rank + 3 - k) % 3)));
        }
      });
  const auto found = verify(Collective::allgather, 0, false, schedules);
  ASSERT_NE(found, std::nullopt);
  EXPECT_EQ(found->kind, Kind::deadlock);
}

TEST(Verify, rejects_conflicting_accesses_without_an_order) {
  auto schedules = exchange_programs();
  set_edges(schedules[0], {});
  EXPECT_EQ(detail_of(schedules, Kind::race),
            "rank 0 step 2: reduce input and scratch[0] into output blocks 0..0: no dependency "
            "orders it after step 1 (recv from 1 into scratch[0] blocks 0..0), and it reads what "
            "that step writes");
}

TEST(Verify, sees_the_race_that_only_aliasing_makes) {
  const auto& ring = find_algorithm(Collective::allreduce, "ring", "test");
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < 3; ++rank) schedules.push_back(ring.generate({rank, 3, 0, false}, {}));
  EXPECT_EQ(verify(Collective::allreduce, 0, false, schedules), std::nullopt);
  const auto found = verify(Collective::allreduce, 0, true, schedules);
  ASSERT_NE(found, std::nullopt);
  EXPECT_EQ(found->kind, Kind::race);
}

TEST(Verify, accepts_an_order_that_follows_from_other_edges) {
  const auto schedules =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        builder.recv(1 - rank, tmp(0, 0));         // 0
        builder.send(1 - rank, in(0));             // 1
        builder.reduce(in(0), tmp(0, 0), out(0));  // 2
      });
  auto detour = schedules;
  set_edges(detour[0], {{0, 1}, {1, 2}});  // 0 -> 2 by way of the send
  EXPECT_EQ(verify(Collective::allreduce, 0, false, detour), std::nullopt);
}

TEST(Verify, rejects_reads_of_nothing_and_outputs_nobody_writes) {
  const auto no_copy =
      programs(Collective::broadcast, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.send(1, in(0));
        if (rank == 1) builder.recv(0, out(0));
      });
  EXPECT_EQ(detail_of(no_copy, Kind::unwritten, Collective::broadcast),
            "rank 0: nothing writes output block 0");
  const auto early =
      programs(Collective::broadcast, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.send(1, out(0));
        if (rank == 0) builder.copy(in(0), out(0));
        if (rank == 1) builder.recv(0, out(0));
      });
  EXPECT_EQ(detail_of(early, Kind::unwritten, Collective::broadcast),
            "rank 0 step 0: send to 1 from output blocks 0..0: reads block 0 before anything wrote "
            "it");
}

TEST(Verify, demands_the_run_that_was_last_written_into_a_slot) {
  const auto schedules =
      programs(Collective::broadcast, 2, false, 2, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) {
          builder.copy(in(0, 2), out(0, 2));
          builder.send(1, in(0));
          builder.send(1, in(1));
        } else {
          builder.recv(0, tmp(0, 0));
          builder.recv(0, tmp(0, 1));
          builder.copy(tmp(0, 0), out(0));
          builder.copy(tmp(0, 1), out(1));
        }
      });
  EXPECT_EQ(detail_of(schedules, Kind::unwritten, Collective::broadcast),
            "rank 1 step 2: copy scratch[0] into output blocks 0..0: reads blocks 0..0 but "
            "scratch[0] holds blocks 1..1");
}

TEST(Verify, says_which_contribution_is_missing_or_counted_twice) {
  const auto missing =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.send(1, in(0));
        if (rank == 0) builder.copy(in(0), out(0));
        if (rank == 1) builder.recv(0, tmp(0, 0));
        if (rank == 1) builder.reduce(tmp(0, 0), in(0), out(0));
      });
  EXPECT_EQ(detail_of(missing, Kind::wrong_value),
            "rank 0: output block 0 is wrong: rank 1's contribution is missing");
  const auto twice =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        exchange(builder, rank);
        if (rank == 1) builder.reduce(out(0), tmp(0, 0), out(0));
      });
  EXPECT_EQ(detail_of(twice, Kind::wrong_value),
            "rank 1: output block 0 is wrong: rank 0's contribution is counted twice");
}

TEST(Verify, demands_identical_bits_from_an_allreduce) {
  // Everybody adds its own input first: the sums agree, their rounding does not.
  const auto schedules =
      programs(Collective::allreduce, 3, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        for (const Rank k : {1, 2}) {
          builder.send((rank + k) % 3, in(0));
          builder.recv((rank + 3 - k) % 3, tmp(static_cast<std::uint32_t>(k), 0));
        }
        builder.reduce(in(0), tmp(1, 0), out(0));
        builder.reduce(out(0), tmp(2, 0), out(0));
      });
  EXPECT_EQ(detail_of(schedules, Kind::wrong_value),
            "rank 1: output block 0 is summed in another order than on rank 0, so their last bits "
            "may differ");
}

TEST(Verify, demands_that_a_barrier_waits_for_every_rank) {
  const auto rounds = [](Rank limit) {
    return programs(Collective::barrier, 4, false, 0, [&](ScheduleBuilder& builder, Rank rank) {
      for (Rank distance = 1; distance < limit; distance *= 2) {
        builder.signal((rank + distance) % 4);
        builder.wait_signal((rank + 4 - distance) % 4);
        builder.fence();
      }
    });
  };
  EXPECT_EQ(detail_of(rounds(4), Kind::wrong_value, Collective::barrier), "accepted");
  EXPECT_EQ(detail_of(rounds(2), Kind::wrong_value, Collective::barrier),
            "rank 0 can leave the barrier before rank 1 has entered it");
  auto hasty = rounds(4);
  set_edges(hasty[1], {{0, 2}, {0, 3}, {1, 3}});  // signals rank 3 without waiting for rank 0
  EXPECT_EQ(detail_of(hasty, Kind::wrong_value, Collective::barrier),
            "rank 3 can leave the barrier before rank 0 has entered it");
}

TEST(Prove, reports_the_first_failing_case) {
  const Algorithm broken{.collective = Collective::broadcast,
                         .name = "broken",
                         .generate =
                             +[](const Shape& shape, const Params&) {
                               ScheduleBuilder builder(Collective::broadcast, shape, 1);
                               if (shape.rank == shape.root) builder.copy(in(0), out(0));
                               return std::move(builder).finish();
                             },
                         .tunables = "segments",
                         .summary = "",
                         .cost = ""};
  const Algorithm* const one[] = {&broken};
  const int sizes[] = {1, 2, 3};
  const ProofReport report = prove(one, sizes);
  EXPECT_FALSE(report.proved());
  ASSERT_EQ(report.algorithms.size(), 1U);
  EXPECT_EQ(report.algorithms[0].cases, 4U + 1);
  EXPECT_EQ(report.algorithms[0].failure,
            "broadcast/broken P=2 root=0 segments=1: unwritten: rank 1: nothing writes "
            "output block 0");
  EXPECT_EQ(
      report.algorithms[0].counterexample.rfind("broadcast/broken P=2 root=0 segments=1\n", 0), 0U);
  EXPECT_FALSE(prove(one, {}).proved());
}

TEST(Prove, ends_where_the_programs_do_not_fit) {
  // The memory is reserved, not touched.
  const Algorithm large{.collective = Collective::broadcast,
                        .name = "large",
                        .generate =
                            +[](const Shape& shape, const Params&) {
                              Schedule schedule;
                              schedule.space = block_space(Collective::broadcast, shape, 1);
                              schedule.steps.reserve(shape.size < 1000 ? 1 : std::size_t{1} << 27);
                              return schedule;
                            },
                        .tunables = "",
                        .summary = "",
                        .cost = ""};
  const Algorithm* const one[] = {&large};
  const int sizes[] = {1000};
  const ProofReport report = prove(one, sizes);
  EXPECT_FALSE(report.proved());
  EXPECT_EQ(report.algorithms[0].failure, std::nullopt);
  EXPECT_EQ(report.algorithms[0].untried,
            "broadcast/large: the programs of the first 1 of 1000 ranks take more than 1536 MiB, "
            "which is all that may be used; ask for fewer ranks");
}

TEST(Prove, tells_whether_the_order_of_ranks_is_kept) {
  const auto keeps = [](Collective collective, std::string_view name) {
    const Algorithm* const one[] = {&find_algorithm(collective, name, "test")};
    const int sizes[] = {5, 8};
    return prove(one, sizes).algorithms[0].facts.keeps_order;
  };
  EXPECT_TRUE(keeps(Collective::allreduce, "recursive_doubling"));
  EXPECT_FALSE(keeps(Collective::allreduce, "ring"));
  EXPECT_TRUE(keeps(Collective::allgather, "ring"));
}

}  // namespace
}  // namespace commtune
