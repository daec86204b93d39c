#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

using Edges = std::vector<std::pair<StepId, StepId>>;

ScheduleBuilder allreduce_of(Rank size, bool in_place, std::uint32_t blocks) {
  return {Collective::allreduce, Shape{0, size, 0, in_place}, blocks};
}

TEST(ScheduleBuilder, orders_reads_after_the_write) {
  auto builder = allreduce_of(2, false, 2);
  builder.recv(1, tmp(0, 0));                // 0
  builder.reduce(in(0), tmp(0, 0), out(0));  // 1
  builder.recv(1, out(1));                   // 2
  builder.send(1, out(0, 2));                // 3
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{0, 1}, {1, 3}, {2, 3}}));
}

TEST(ScheduleBuilder, orders_a_write_after_all_readers_or_else_the_last_writer) {
  auto builder = allreduce_of(3, false, 1);
  builder.recv(1, out(0));  // 0
  builder.send(1, out(0));  // 1
  builder.send(2, out(0));  // 2
  builder.recv(1, out(0));  // 3: after both readers, which follow 0
  builder.recv(2, out(0));  // 4: after the writer
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}}));
}

TEST(ScheduleBuilder, treats_input_and_output_as_one_place_only_when_in_place) {
  const auto write = [](ScheduleBuilder builder) {
    builder.send(1, in(0));
    builder.recv(1, out(0));
    return edges(std::move(builder).finish());
  };
  EXPECT_EQ(write(allreduce_of(2, false, 1)), Edges{});
  EXPECT_EQ(write(allreduce_of(2, true, 1)), (Edges{{0, 1}}));
}

TEST(ScheduleBuilder, aliases_only_the_own_part_of_an_in_place_reduce_scatter) {
  ScheduleBuilder builder(Collective::reduce_scatter, Shape{1, 3, 0, true}, 1);
  builder.send(0, in(0));
  builder.send(2, in(1));
  builder.recv(0, out(1));
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{1, 2}}));
}

TEST(ScheduleBuilder, tracks_a_scratch_slot_as_one_place) {
  auto builder = allreduce_of(2, false, 4);
  builder.recv(1, tmp(1, 0, 2));
  builder.send(1, tmp(1, 0, 2));
  builder.recv(1, tmp(1, 3));
  builder.recv(1, tmp(0, 0, 2));
  const Schedule schedule = std::move(builder).finish();
  EXPECT_EQ(edges(schedule), (Edges{{0, 1}, {1, 2}}));
  EXPECT_EQ(schedule.slots, 2U);
}

TEST(ScheduleBuilder, a_fence_orders_everything_before_it_before_everything_after_it) {
  ScheduleBuilder builder(Collective::barrier, Shape{0, 4, 0, false}, 0);
  builder.signal(1);
  builder.wait_signal(3);
  builder.fence();
  builder.fence();
  builder.signal(2);
  builder.fence();
  builder.wait_signal(2);
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{0, 2}, {1, 2}, {2, 3}}));
}

TEST(ScheduleBuilder, leaves_out_a_copy_onto_the_same_storage) {
  auto in_place = allreduce_of(1, true, 2);
  in_place.copy(in(0, 2), out(0, 2));
  EXPECT_TRUE(std::move(in_place).finish().steps.empty());
  auto out_of_place = allreduce_of(1, false, 2);
  out_of_place.copy(in(0, 2), out(0, 2));
  EXPECT_EQ(std::move(out_of_place).finish().steps.size(), 1U);
}

TEST(ScheduleBuilder, refuses_what_a_schedule_cannot_mean) {
  auto builder = allreduce_of(3, false, 2);
  EXPECT_EQ(usage_error([&] { builder.send(1, in(1, 2)); }),
            "send: rank 0's input holds 2 blocks from 0, not 1+2");
  EXPECT_EQ(usage_error([&] { builder.send(0, in(0)); }),
            "send: rank 0 of 3 cannot talk to rank 0");
  EXPECT_NE(usage_error([&] { builder.recv(3, out(0)); }), "");
  EXPECT_NE(usage_error([&] { builder.recv(1, in(0)); }), "");
  EXPECT_NE(usage_error([&] { builder.recv(1, out(0, 0)); }), "");
  EXPECT_NE(usage_error([&] { builder.recv(1, tmp(0, 2)); }), "");
  EXPECT_NE(usage_error([&] { builder.copy(in(0), out(1)); }), "");
  EXPECT_NE(usage_error([&] { builder.reduce(in(0), tmp(0, 1), out(0)); }), "");
  EXPECT_NE(usage_error([&] { builder.send(1, in(0xffffffff)); }), "");
  EXPECT_NE(usage_error([&] { allreduce_of(2, false, 0); }), "");
  EXPECT_TRUE(std::move(builder).finish().steps.empty());
}

TEST(ScheduleBuilder, makes_one_message_of_several_runs) {
  auto builder = allreduce_of(2, false, 6);
  const Slice sent[] = {in(0), in(3, 2), in(2)};
  const Slice received[] = {out(0), tmp(0, 3, 2), out(2)};
  builder.send(1, sent);
  builder.recv(1, received);
  builder.send(1, std::span<const Slice>{});
  const Schedule schedule = std::move(builder).finish();
  ASSERT_EQ(schedule.steps.size(), 6U);
  std::vector<bool> joined;
  for (const Step& step : schedule.steps) joined.push_back(step.joined);
  EXPECT_EQ(joined, (std::vector<bool>{true, true, false, true, true, false}));
  EXPECT_EQ(schedule.steps[4].dst, BufferId::scratch);
  EXPECT_EQ(edges(schedule), Edges{});
}

TEST(ScheduleBuilder, a_message_of_several_runs_waits_as_a_whole) {
  auto builder = allreduce_of(2, false, 3);
  builder.recv(1, out(0));  // 0
  builder.recv(1, out(2));  // 1
  const Slice runs[] = {in(1), out(0), out(2)};
  builder.send(1, runs);  // 2, 3, 4
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{0, 2}, {0, 3}, {1, 2}, {1, 4}}));
}

TEST(ScheduleBuilder, refuses_a_message_that_touches_one_place_twice) {
  auto builder = allreduce_of(2, false, 3);
  const Slice twice[] = {out(0, 2), out(1)};
  EXPECT_EQ(usage_error([&] { builder.recv(1, twice); }),
            "a message of several runs touches one place twice");
  auto sends = allreduce_of(2, false, 3);
  const Slice read_twice[] = {in(0, 2), in(1)};
  sends.send(1, read_twice);
  EXPECT_EQ(std::move(sends).finish().steps.size(), 2U);
}

TEST(ScheduleBuilder, knows_which_runs_of_an_alltoall_are_consecutive) {
  ScheduleBuilder builder(Collective::alltoall, Shape{1, 3, 0, false}, 2);
  builder.send(0, in(6, 2));
  builder.recv(0, out(2, 2));
  EXPECT_NE(usage_error([&] { builder.recv(2, out(3, 2)); }), "");
  EXPECT_NE(usage_error([&] { builder.recv(2, out(4)); }), "");
  EXPECT_NE(usage_error([&] { builder.send(2, in(0)); }), "");
  builder.recv(2, out(15));
}

TEST(ScheduleBuilder, orders_an_in_place_alltoall_by_position) {
  ScheduleBuilder builder(Collective::alltoall, Shape{1, 3, 0, true}, 1);
  builder.recv(0, tmp(0, 1));       // 0
  builder.send(0, in(3));           // 1: place 0
  builder.copy(tmp(0, 1), out(1));  // 2: place 0
  builder.recv(2, out(7));          // 3: place 2
  EXPECT_EQ(edges(std::move(builder).finish()), (Edges{{0, 2}, {1, 2}}));
}

TEST(SetEdges, collapses_duplicates_and_counts_predecessors) {
  auto builder = allreduce_of(2, false, 3);
  for (std::uint32_t i = 0; i < 3; ++i) builder.recv(1, out(i));
  Schedule schedule = std::move(builder).finish();
  set_edges(schedule, {{1, 2}, {0, 2}, {0, 1}, {0, 2}});
  EXPECT_EQ(edges(schedule), (Edges{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(schedule.in_degrees, (std::vector<std::uint16_t>{0, 1, 2}));
  EXPECT_NE(usage_error([&] { set_edges(schedule, {{0, 3}}); }), "");
}

}  // namespace
}  // namespace commtune
