#include "collectives/schedule/counterexample.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

std::string story(Collective collective, const std::vector<Schedule>& schedules,
                  bool in_place = false) {
  const auto found = verify(collective, 0, in_place, schedules);
  return found ? counterexample("title", collective, 0, in_place, schedules, *found) : "accepted";
}

TEST(Counterexample, tells_whose_contribution_is_missing_and_how_the_value_came_there) {
  const auto schedules =
      programs(Collective::allreduce, 3, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 1) builder.send(0, in(0));
        if (rank == 0) builder.recv(1, tmp(0, 0));
        if (rank == 0) builder.reduce(in(0), tmp(0, 0), out(0));
        for (const Rank to : {1, 2}) {
          if (rank == 0) builder.send(to, out(0));
          if (rank == to) builder.recv(0, out(0));
        }
      });
  EXPECT_EQ(story(Collective::allreduce, schedules),
            "title\n"
            "wrong_value: rank 0: output block 0 is wrong: rank 2's contribution is missing\n"
            "block 0 of rank 0's output holds the inputs of 0..1\n"
            "how it came there, on rank 0:\n"
            "  rank 1 step 0: send to 0 from input blocks 0..0 = inputs of 1\n"
            "  rank 0 step 0: recv from 1 into scratch[0] blocks 0..0 = inputs of 1\n"
            "  rank 0 step 1: reduce input and scratch[0] into output blocks 0..0 = inputs of "
            "0..1\n"
            "program of rank 0, steps 0..3 of 4:\n"
            "  step 0: recv from 1 into scratch[0] blocks 0..0\n"
            "  step 1: reduce input and scratch[0] into output blocks 0..0 after 0\n"
            "  step 2: send to 1 from output blocks 0..0 after 1\n"
            "  step 3: send to 2 from output blocks 0..0 after 1\n");
}

TEST(Counterexample, tells_what_is_counted_twice) {
  const auto schedules =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        builder.send(1 - rank, in(0));
        builder.recv(1 - rank, tmp(0, 0));
        builder.reduce(in(0), tmp(0, 0), out(0));
        if (rank == 1) builder.reduce(out(0), tmp(0, 0), out(0));
      });
  const std::string text = story(Collective::allreduce, schedules);
  EXPECT_NE(text.find("block 0 of rank 1's output holds the inputs of 0 twice,1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  rank 1 step 3: reduce output and scratch[0] into output blocks 0..0 = "
                      "inputs of 0 twice,1\n"),
            std::string::npos)
      << text;
}

TEST(Counterexample, names_the_foreign_block) {
  const auto schedules =
      programs(Collective::sendrecv, 2, true, 1, [](ScheduleBuilder& builder, Rank rank) {
        const auto mine = static_cast<std::uint32_t>(rank);
        builder.send(1 - rank, in(mine));
        builder.recv(1 - rank, tmp(0, 1 - mine));
      });
  const std::string text = story(Collective::sendrecv, schedules, true);
  EXPECT_NE(text.find("block 1 of rank 0's output holds the inputs of 0 (block 0)\n"),
            std::string::npos)
      << text;
}

TEST(Counterexample, shows_both_trees_of_an_allreduce) {
  const auto schedules =
      programs(Collective::allreduce, 3, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        for (const Rank k : {1, 2}) {
          builder.send((rank + k) % 3, in(0));
          builder.recv((rank + 3 - k) % 3, tmp(static_cast<std::uint32_t>(k), 0));
        }
        builder.reduce(in(0), tmp(1, 0), out(0));
        builder.reduce(out(0), tmp(2, 0), out(0));
      });
  const std::string text = story(Collective::allreduce, schedules);
  EXPECT_NE(text.find("how it came there, on rank 1:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("how it came there, on rank 0:\n"), std::string::npos) << text;
}

TEST(Counterexample, tells_the_circle_of_a_deadlock) {
  const auto schedules =
      programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        builder.recv(1 - rank, tmp(0, 0));
        builder.reduce(in(0), tmp(0, 0), out(0));
        builder.fence();
        builder.send(1 - rank, in(0));
      });
  const std::string text = story(Collective::allreduce, schedules);
  EXPECT_NE(text.find("the circle of steps that wait for each other:\n"
                      "  rank 0 step 0: recv from 1 into scratch[0] blocks 0..0\n"
                      "    waits for rank 1 step 2, the other end of the message\n"
                      "  rank 1 step 2: send to 0 from input blocks 0..0\n"
                      "    waits for rank 1 step 0, a dependency\n"
                      "  rank 1 step 0: recv from 0 into scratch[0] blocks 0..0\n"
                      "    waits for rank 0 step 2, the other end of the message\n"
                      "  rank 0 step 2: send to 1 from input blocks 0..0\n"
                      "    waits for rank 0 step 0, a dependency\n"
                      "program of rank 0, steps 0..2 of 3:\n"
                      "> step 0: recv from 1 into scratch[0] blocks 0..0\n"),
            std::string::npos)
      << text;
}

TEST(Counterexample, tells_which_message_holds_another_one_up) {
  const auto schedules =
      programs(Collective::allgather, 3, false, 1, [](ScheduleBuilder& builder, Rank rank) {
        const auto block = [](Rank of) { return static_cast<std::uint32_t>(of); };
        builder.copy(in(block(rank)), out(block(rank)));
        for (const Rank k : {1, 2}) builder.send((rank + k) % 3, in(block(rank)));
        for (const Rank k : {2, 1}) {
          builder.recv((rank + 3 - k) % 3, out(block((rank + 3 - k) % 3)));
        }
      });
  const std::string text = story(Collective::allgather, schedules);
  EXPECT_NE(text.find("an earlier message in the same direction"), std::string::npos) << text;
}

TEST(Counterexample, shows_both_ends_of_a_message_that_does_not_fit) {
  const auto schedules =
      programs(Collective::broadcast, 2, false, 2, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) builder.copy(in(0, 2), out(0, 2));
        for (const std::uint32_t block : {0U, 1U}) {
          if (rank == 0) builder.send(1, in(block));
          if (rank == 1) builder.recv(0, out(1 - block));
        }
      });
  const std::string text = story(Collective::broadcast, schedules);
  EXPECT_NE(text.find("> step 0: recv from 0 into output blocks 1..1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("> step 1: send to 1 from input blocks 0..0\n"), std::string::npos) << text;
}

TEST(Counterexample, shows_the_program_around_other_violations) {
  auto race = programs(Collective::allreduce, 2, false, 1, [](ScheduleBuilder& builder, Rank rank) {
    builder.send(1 - rank, in(0));
    builder.recv(1 - rank, tmp(0, 0));
    builder.reduce(in(0), tmp(0, 0), out(0));
  });
  const auto right = race;
  set_edges(race[0], {});
  std::string text = story(Collective::allreduce, race);
  EXPECT_NE(text.find("> step 2: reduce input and scratch[0] into output blocks 0..0\n"),
            std::string::npos)
      << text;
  auto malformed = right;
  malformed[1].steps[1].dst_slot = 4;
  text = story(Collective::allreduce, malformed);
  EXPECT_NE(text.find("> step 1: recv from 0 into scratch[4] blocks 0..0\n"), std::string::npos);
  auto unmatched = right;
  unmatched[1].steps.pop_back();
  unmatched[1].steps.pop_back();
  set_edges(unmatched[1], {});
  text = story(Collective::allreduce, unmatched);
  EXPECT_NE(text.find("unmatched: rank 0 step 0"), std::string::npos) << text;
  const auto nothing = programs(Collective::broadcast, 1, false, 1, [](ScheduleBuilder&, Rank) {});
  text = story(Collective::broadcast, nothing);
  EXPECT_NE(text.find("no step of rank 0 writes it\nrank 0 has no steps\n"), std::string::npos)
      << text;
  const auto barrier = programs(Collective::barrier, 2, false, 0, [](ScheduleBuilder&, Rank) {});
  EXPECT_NE(story(Collective::barrier, barrier).find("can leave the barrier"), std::string::npos);
}

}  // namespace
}  // namespace commtune
