#include <gtest/gtest.h>

#include "collectives/schedule/prove.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

std::string verdict(Collective collective, const std::vector<Schedule>& schedules) {
  const auto found = verify(collective, 0, false, schedules);
  return found ? std::string(name(found->kind)) + ": " + found->detail : "accepted";
}

/// Rank 0 sends blocks 2 and 0 in one message, then block 1.
std::vector<Schedule> broadcast_in_runs() {
  return programs(Collective::broadcast, 2, false, 3, [](ScheduleBuilder& builder, Rank rank) {
    const Slice sent[] = {in(2), in(0)}, received[] = {out(2), out(0)};
    if (rank == 0) {
      builder.copy(in(0, 3), out(0, 3));
      builder.send(1, sent);
      builder.send(1, in(1));
    } else {
      builder.recv(0, received);
      builder.recv(0, out(1));
    }
  });
}

TEST(VerifyMessages, accepts_a_message_of_several_runs) {
  EXPECT_EQ(verdict(Collective::broadcast, broadcast_in_runs()), "accepted");
}

TEST(VerifyMessages, rejects_ends_that_join_different_steps) {
  auto schedules = broadcast_in_runs();
  schedules[1].steps[0].joined = false;
  EXPECT_EQ(verdict(Collective::broadcast, schedules),
            "size_mismatch: rank 1 step 0: recv from 0 into output blocks 2..2: its matching step "
            "1 of rank 0 is: send to 1 from input blocks 2..2, with the next step");
  schedules = broadcast_in_runs();
  schedules[0].steps[2].joined = true;
  EXPECT_EQ(verdict(Collective::broadcast, schedules).rfind("size_mismatch: rank 1 step 1", 0), 0U);
}

TEST(VerifyMessages, rejects_runs_in_another_order) {
  auto schedules = broadcast_in_runs();
  std::swap(schedules[1].steps[0].first, schedules[1].steps[1].first);
  EXPECT_EQ(verdict(Collective::broadcast, schedules).rfind("size_mismatch: rank 1 step 0", 0), 0U);
}

TEST(VerifyMessages, rejects_steps_joined_with_another_message) {
  auto schedules = broadcast_in_runs();
  schedules[1].steps[2].joined = true;  // nothing follows
  EXPECT_EQ(verdict(Collective::broadcast, schedules),
            "malformed: rank 1 step 2: recv from 0 into output blocks 1..1, with the next step: it "
            "is joined with the next step, which is no part of its message");
  schedules = broadcast_in_runs();
  schedules[0].steps[0].joined = true;  // a copy
  EXPECT_EQ(verdict(Collective::broadcast, schedules).rfind("malformed: rank 0 step 0", 0), 0U);
}

/// Rank 1 answers the first run of a message whose second run rank 0 makes from the answer.
std::vector<Schedule> waits_for_its_own_reply(bool joined) {
  auto schedules =
      programs(Collective::allreduce, 2, false, 2, [](ScheduleBuilder& builder, Rank rank) {
        if (rank == 0) {
          builder.send(1, in(0));                    // 0
          builder.recv(1, out(0));                   // 1
          builder.recv(1, tmp(0, 1));                // 2
          builder.reduce(in(1), tmp(0, 1), out(1));  // 3
          builder.send(1, out(1));                   // 4
        } else {
          builder.recv(0, tmp(0, 0));                // 0
          builder.reduce(tmp(0, 0), in(0), out(0));  // 1
          builder.send(0, out(0));                   // 2
          builder.send(0, in(1));                    // 3
          builder.recv(0, out(1));                   // 4
        }
      });
  if (!joined) return schedules;
  // The same with both runs of rank 0 in one message.
  Schedule& sender = schedules[0];
  sender.steps = {sender.steps[1], sender.steps[2], sender.steps[3], sender.steps[0],
                  sender.steps[4]};
  sender.steps[3].joined = true;
  set_edges(sender, {{1, 2}, {2, 4}});
  Schedule& receiver = schedules[1];
  receiver.steps = {receiver.steps[0], receiver.steps[4], receiver.steps[1], receiver.steps[2],
                    receiver.steps[3]};
  receiver.steps[0].joined = true;
  set_edges(receiver, {{0, 2}, {2, 3}});
  return schedules;
}

TEST(VerifyMessages, finds_the_message_that_waits_for_its_own_reply) {
  EXPECT_EQ(verdict(Collective::allreduce, waits_for_its_own_reply(false)), "accepted");
  EXPECT_EQ(verdict(Collective::allreduce, waits_for_its_own_reply(true)),
            "deadlock: rank 0 step 0: recv from 1 into output blocks 0..0: never completes: rank 1 "
            "step 3, the other end, waits for steps that cannot finish");
}

TEST(VerifyMessages, reads_a_part_of_the_run_in_a_scratch_slot) {
  const auto relay = [](std::uint32_t first, std::uint32_t count) {
    auto schedules =
        programs(Collective::broadcast, 2, false, 4, [](ScheduleBuilder& builder, Rank rank) {
          if (rank == 0) {
            builder.copy(in(0, 4), out(0, 4));
            builder.send(1, in(1, 3));
            builder.send(1, in(0));
          } else {
            builder.recv(0, tmp(0, 1, 3));
            builder.copy(tmp(0, 2, 2), out(2, 2));
            builder.copy(tmp(0, 1), out(1));
            builder.recv(0, out(0));
          }
        });
    schedules[1].steps[1].first = first;
    schedules[1].steps[1].count = count;
    return verdict(Collective::broadcast, schedules);
  };
  EXPECT_EQ(relay(2, 2), "accepted");
  EXPECT_EQ(relay(2, 1), "unwritten: rank 1: nothing writes output block 3");
  EXPECT_EQ(relay(0, 2),
            "unwritten: rank 1 step 1: copy scratch[0] into output blocks 0..1: reads blocks 0..1 "
            "but scratch[0] holds blocks 1..3");
}

TEST(VerifyMessages, a_refused_shape_is_named) {
  const Algorithm even{.collective = Collective::barrier,
                       .name = "even",
                       .generate =
                           +[](const Shape& shape, const Params&) {
                             ScheduleBuilder builder(Collective::barrier, shape, 0);
                             if (shape.rank % 2 == 0) builder.signal(shape.rank + 1);
                             if (shape.rank % 2 == 0) builder.wait_signal(shape.rank + 1);
                             if (shape.rank % 2 == 1) builder.wait_signal(shape.rank - 1);
                             if (shape.rank % 2 == 1) builder.signal(shape.rank - 1);
                             return std::move(builder).finish();
                           },
                       .tunables = "",
                       .summary = "",
                       .cost = "",
                       .needs = "two ranks",
                       .refuse =
                           +[](const Shape& shape, const Params&) {
                             return shape.size == 2 ? std::string{} : std::string("not two ranks");
                           }};
  EXPECT_EQ(refusal(even, {0, 2, 0, false}, {}), "");
  EXPECT_EQ(refusal(even, {0, 3, 0, false}, {}), "not two ranks");
  EXPECT_EQ(usage_error([&] {
              generate_all(even, {0, 3, 0, false}, {});
            }),
            "barrier/even: not two ranks");
  EXPECT_TRUE(verify_cases(even, 3).empty());
  const Algorithm* const one[] = {&even};
  const int sizes[] = {1, 2, 3}, refused[] = {3};
  EXPECT_TRUE(prove(one, sizes).proved());
  EXPECT_FALSE(prove(one, refused).proved());
}

}  // namespace
}  // namespace commtune
