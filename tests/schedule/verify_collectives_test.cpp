#include <gtest/gtest.h>

#include "collectives/schedule/prove.hpp"
#include "programs.hpp"

// Small programs of every collective, right and wrong.
namespace commtune {
namespace {

using Kind = Violation::Kind;

std::uint32_t at(Rank rank) { return static_cast<std::uint32_t>(rank); }

std::string verdict(Collective collective, const std::vector<Schedule>& schedules,
                    bool in_place = false, Rank root = 0, Facts* facts = nullptr) {
  const auto found = verify(collective, root, in_place, schedules, facts);
  return found ? std::string(name(found->kind)) + ": " + found->detail : "accepted";
}

/// Every rank sends straight to every other one; `block(from, to)` is where a part lands.
template <class Block>
std::vector<Schedule> direct_alltoall(bool in_place, Block block) {
  constexpr Rank size = 3;
  return programs(Collective::alltoall, size, in_place, 1,
                  [&](ScheduleBuilder& builder, Rank rank) {
                    const auto number = [&](Rank from, Rank to) { return at(from * size + to); };
                    if (in_place) {
                      for (Rank to = 0; to < size; ++to) {
                        if (to != rank)
                          builder.copy(in(number(rank, to)), tmp(at(to), number(rank, to)));
                      }
                    }
                    builder.copy(in(number(rank, rank)), out(number(rank, rank)));
                    for (const Rank k : {1, 2}) {
                      const Rank to = (rank + k) % size, from = (rank + size - k) % size;
                      const std::uint32_t sent = number(rank, block(rank, to));
                      builder.send(to, in_place ? tmp(at(block(rank, to)), sent) : in(sent));
                      builder.recv(from, out(number(from, block(from, rank))));
                    }
                  });
}

TEST(VerifyAlltoall, accepts_a_direct_exchange_in_and_out_of_place) {
  const auto right = [](Rank, Rank to) { return to; };
  EXPECT_EQ(verdict(Collective::alltoall, direct_alltoall(false, right)), "accepted");
  EXPECT_EQ(verdict(Collective::alltoall, direct_alltoall(true, right), true), "accepted");
}

TEST(VerifyAlltoall, rejects_two_exchanged_blocks) {
  auto schedules = direct_alltoall(false, [](Rank, Rank to) { return to; });
  for (Step& step : schedules[0].steps) {
    if (step.kind == StepKind::send) step.first = 3 - step.first;  // to 1 what is for 2
  }
  EXPECT_EQ(
      verdict(Collective::alltoall, schedules),
      "size_mismatch: rank 1 step 2: recv from 0 into output blocks 1..1: its matching step 1 "
      "of rank 0 is: send to 1 from input blocks 2..2");
  // Through a place where block numbers do not tell: in place, rank 0 overwrites what it sends.
  const auto early =
      programs(Collective::alltoall, 2, true, 1, [](ScheduleBuilder& builder, Rank rank) {
        const std::uint32_t mine = at(rank * 2 + 1 - rank), theirs = at((1 - rank) * 2 + rank);
        builder.recv(1 - rank, tmp(0, theirs));
        builder.send(1 - rank, in(mine));
        builder.copy(tmp(0, theirs), out(theirs));
      });
  EXPECT_EQ(verdict(Collective::alltoall, early, true), "accepted");
  auto wrong = early;
  std::swap(wrong[0].steps[1], wrong[0].steps[2]);
  set_edges(wrong[0], {{0, 1}, {1, 2}});
  EXPECT_EQ(verdict(Collective::alltoall, wrong, true),
            "wrong_value: rank 1: output block 1 is wrong: it holds something else");
}

std::vector<Schedule> two_rank_gather(bool in_place, bool copy_own) {
  return programs(Collective::gather, 2, in_place, 1, [&](ScheduleBuilder& builder, Rank rank) {
    if (rank == 1) builder.send(0, in(1));
    if (rank == 0 && copy_own) builder.copy(in(0), out(0));
    if (rank == 0) builder.recv(1, out(1));
  });
}

TEST(VerifyGather, demands_every_part_at_the_root) {
  EXPECT_EQ(verdict(Collective::gather, two_rank_gather(false, true)), "accepted");
  EXPECT_EQ(verdict(Collective::gather, two_rank_gather(true, false), true), "accepted");
  EXPECT_EQ(verdict(Collective::gather, two_rank_gather(false, false)),
            "unwritten: rank 0: nothing writes output block 0");
}

TEST(VerifyScatter, demands_the_own_part) {
  const auto scatter = [](bool in_place, bool copy_own) {
    return programs(Collective::scatter, 2, in_place, 1, [&](ScheduleBuilder& builder, Rank rank) {
      if (rank == 0) builder.send(1, in(1));
      if (rank == 0 && copy_own) builder.copy(in(0), out(0));
      if (rank == 1) builder.recv(0, out(1));
    });
  };
  EXPECT_EQ(verdict(Collective::scatter, scatter(false, true)), "accepted");
  EXPECT_EQ(verdict(Collective::scatter, scatter(true, false), true), "accepted");
  EXPECT_EQ(verdict(Collective::scatter, scatter(false, false)),
            "unwritten: rank 0: nothing writes output block 0");
  auto lost = scatter(false, true);
  lost[1].steps[0].dst = BufferId::scratch;
  lost[1].slots = 1;
  EXPECT_EQ(verdict(Collective::scatter, lost), "unwritten: rank 1: nothing writes output block 1");
}

TEST(VerifySendrecv, demands_the_part_of_the_rank_before) {
  const auto ring = [](bool in_place, Rank distance) {
    return programs(Collective::sendrecv, 3, in_place, 1, [&](ScheduleBuilder& builder, Rank rank) {
      const auto before = at((rank + 2) % 3);
      if (in_place) builder.copy(in(at(rank)), tmp(0, at(rank)));
      builder.send((rank + distance) % 3, in_place ? tmp(0, at(rank)) : in(at(rank)));
      if (distance == 1) {
        builder.recv((rank + 2) % 3, out(before));
      } else {
        builder.recv((rank + 1) % 3, tmp(1, at((rank + 1) % 3)));
      }
    });
  };
  EXPECT_EQ(verdict(Collective::sendrecv, ring(false, 1)), "accepted");
  EXPECT_EQ(verdict(Collective::sendrecv, ring(true, 1), true), "accepted");
  EXPECT_EQ(verdict(Collective::sendrecv, ring(false, 2)),
            "unwritten: rank 0: nothing writes output block 2");
  EXPECT_EQ(verdict(Collective::sendrecv, ring(true, 2), true),
            "wrong_value: rank 0: output block 2 is wrong: it holds something else");
}

TEST(VerifyReduce, demands_every_contribution_at_the_root_only) {
  const auto reduce = [](bool last) {
    return programs(Collective::reduce, 3, false, 1, [&](ScheduleBuilder& builder, Rank rank) {
      if (rank == 1 || (rank == 2 && last)) builder.send(0, in(0));
      if (rank != 0) return;
      builder.recv(1, tmp(0, 0));
      builder.reduce(in(0), tmp(0, 0), out(0));
      if (!last) return;
      builder.recv(2, tmp(1, 0));
      builder.reduce(out(0), tmp(1, 0), out(0));
    });
  };
  EXPECT_EQ(verdict(Collective::reduce, reduce(true)), "accepted");
  EXPECT_EQ(verdict(Collective::reduce, reduce(false)),
            "wrong_value: rank 0: output block 0 is wrong: rank 2's contribution is missing");
}

std::vector<Schedule> chain_scan(Collective collective, bool in_place, bool too_much) {
  return programs(collective, 3, in_place, 1, [&](ScheduleBuilder& builder, Rank rank) {
    const bool inclusive = collective == Collective::scan;
    if (rank == 0) {
      builder.send(1, in(0));
      if (inclusive) builder.copy(in(0), out(0));
      return;
    }
    builder.recv(rank - 1, tmp(0, 0));
    builder.reduce(tmp(0, 0), in(0), tmp(1, 0));
    if (rank < 2) builder.send(rank + 1, tmp(1, 0));
    builder.copy(inclusive != too_much ? tmp(1, 0) : tmp(0, 0), out(0));
  });
}

TEST(VerifyScan, demands_the_sum_up_to_the_rank) {
  for (const bool in_place : {false, true}) {
    Facts facts;
    EXPECT_EQ(verdict(Collective::scan, chain_scan(Collective::scan, in_place, false), in_place, 0,
                      &facts),
              "accepted");
    EXPECT_TRUE(facts.keeps_order);
    EXPECT_EQ(verdict(Collective::exscan, chain_scan(Collective::exscan, in_place, false), in_place,
                      0, &facts),
              "accepted");
    EXPECT_TRUE(facts.keeps_order);
  }
}

TEST(VerifyScan, rejects_the_other_kind_of_prefix) {
  EXPECT_EQ(verdict(Collective::scan, chain_scan(Collective::scan, false, true)),
            "wrong_value: rank 1: output block 0 is wrong: rank 1's contribution is missing");
  EXPECT_EQ(verdict(Collective::exscan, chain_scan(Collective::exscan, false, true)),
            "wrong_value: rank 1: output block 0 is wrong: rank 1's contribution is counted twice");
}

TEST(VerifyInPlace, rejects_an_allgather_that_overwrites_its_part) {
  const auto schedules =
      programs(Collective::allgather, 2, true, 1, [](ScheduleBuilder& builder, Rank rank) {
        builder.send(1 - rank, in(at(rank)));
        builder.recv(1 - rank, out(at(1 - rank)));
      });
  EXPECT_EQ(verdict(Collective::allgather, schedules, true), "accepted");
  EXPECT_EQ(verdict(Collective::allgather, schedules, false),
            "unwritten: rank 0: nothing writes output block 0");
}

TEST(VerifyInPlace, rejects_a_reduce_scatter_that_leaves_its_input) {
  const auto programs_with = [](bool reduce) {
    return programs(Collective::reduce_scatter, 2, true, 1,
                    [&](ScheduleBuilder& builder, Rank rank) {
                      builder.send(1 - rank, in(at(1 - rank)));
                      builder.recv(1 - rank, tmp(0, at(rank)));
                      if (reduce) builder.reduce(in(at(rank)), tmp(0, at(rank)), out(at(rank)));
                    });
  };
  EXPECT_EQ(verdict(Collective::reduce_scatter, programs_with(true), true), "accepted");
  EXPECT_EQ(verdict(Collective::reduce_scatter, programs_with(false), true),
            "wrong_value: rank 0: output block 0 is wrong: rank 1's contribution is missing");
}

/// Four ranks sum at rank 0 as `sum` says and send the result round.
template <class Sum>
bool keeps_order(Sum sum) {
  const auto schedules =
      programs(Collective::allreduce, 4, false, 1, [&](ScheduleBuilder& builder, Rank rank) {
        if (rank != 0) builder.send(0, in(0));
        if (rank != 0) return builder.recv(0, out(0));
        for (const Rank from : {1, 2, 3}) builder.recv(from, tmp(at(from), 0));
        sum(builder);
        for (const Rank to : {1, 2, 3}) builder.send(to, out(0));
      });
  Facts facts;
  EXPECT_EQ(verdict(Collective::allreduce, schedules, false, 0, &facts), "accepted");
  return facts.keeps_order;
}

TEST(Facts, tell_whether_the_order_of_ranks_is_kept) {
  EXPECT_TRUE(keeps_order([](ScheduleBuilder& builder) {
    builder.reduce(in(0), tmp(1, 0), tmp(1, 0));
    builder.reduce(tmp(2, 0), tmp(3, 0), tmp(2, 0));
    builder.reduce(tmp(1, 0), tmp(2, 0), out(0));
  }));
  // The operands of one step are swapped.
  EXPECT_FALSE(keeps_order([](ScheduleBuilder& builder) {
    builder.reduce(in(0), tmp(1, 0), tmp(1, 0));
    builder.reduce(tmp(3, 0), tmp(2, 0), tmp(2, 0));
    builder.reduce(tmp(1, 0), tmp(2, 0), out(0));
  }));
  // Ranks that are not neighbours are combined.
  EXPECT_FALSE(keeps_order([](ScheduleBuilder& builder) {
    builder.reduce(in(0), tmp(2, 0), tmp(2, 0));
    builder.reduce(tmp(1, 0), tmp(3, 0), tmp(3, 0));
    builder.reduce(tmp(2, 0), tmp(3, 0), out(0));
  }));
}

}  // namespace
}  // namespace commtune
