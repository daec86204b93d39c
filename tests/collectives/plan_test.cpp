// How a schedule is lowered to what a transport does best.
#include "collectives/runtime/plan.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "collectives/schedule/algorithm.hpp"
#include "collectives/schedule/verify.hpp"

namespace commtune::test {
namespace {

constexpr Shape shape{0, 4, 0, false}, shape_in_place{0, 4, 0, true};

std::vector<const PlanStep*> steps_of(const Plan& plan, StepKind kind) {
  std::vector<const PlanStep*> found;
  for (const PlanStep& step : plan.steps) {
    if (step.kind == kind) found.push_back(&step);
  }
  return found;
}
std::size_t count_of(const Plan& plan, StepKind kind) { return steps_of(plan, kind).size(); }
const Operand& operand(const Plan& plan, const PlanStep& step, std::uint32_t i) {
  return plan.operands[step.first_operand + i];
}

Plan plan_of(const char* algorithm, Collective collective, Rank rank, const Lowering& lowering) {
  const Algorithm& found = find_algorithm(collective, algorithm, "test");
  return make_plan(found.generate({rank, 4, 0, false}, {}), false, lowering);
}

ScheduleBuilder builder(std::uint32_t blocks = 4, const Shape& of = shape) {
  return {Collective::allreduce, of, blocks};
}

Schedule sum_of_one_message() {
  ScheduleBuilder program = builder(1);
  program.recv(1, tmp(0, 0));
  program.reduce(in(0), tmp(0, 0), out(0));
  return std::move(program).finish();
}

TEST(Plan, reads_a_message_where_it_lies) {
  const Plan plan = make_plan(sum_of_one_message(), false, {.views = ViewUse::full});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].operands, 0U);
  EXPECT_EQ(plan.steps[0].view, 0U);
  EXPECT_EQ(plan.steps[1].operands, 3U);
  EXPECT_EQ(operand(plan, plan.steps[1], 2).view, 0U);
  EXPECT_EQ(plan.view_readers, std::vector<std::uint32_t>{1});
}

TEST(Plan, lands_a_message_where_the_transport_has_no_views) {
  const Plan plan = make_plan(sum_of_one_message(), false, {});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].operands, 1U);
  EXPECT_EQ(plan.steps[0].view, Operand::none);
  EXPECT_EQ(operand(plan, plan.steps[1], 2).slice.buffer, BufferId::scratch);
  EXPECT_TRUE(plan.view_readers.empty());
}

TEST(Plan, lands_a_message_that_is_sent_on) {
  ScheduleBuilder program = builder(1);
  program.recv(1, tmp(0, 0));
  program.send(2, tmp(0, 0));
  const Plan plan = make_plan(std::move(program).finish(), false, {.views = ViewUse::full});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].view, Operand::none);
  EXPECT_EQ(plan.steps[0].operands, 1U);
}

TEST(Plan, of_direct_allreduce_has_one_reduction_over_all_sources) {
  for (Rank rank = 0; rank < 4; ++rank) {
    const Plan plan = plan_of("direct", Collective::allreduce, rank, {.views = ViewUse::full});
    const auto reductions = steps_of(plan, StepKind::reduce);
    ASSERT_EQ(reductions.size(), 1U);
    ASSERT_EQ(reductions[0]->operands, 5U);
    EXPECT_EQ(operand(plan, *reductions[0], 0).slice.buffer, BufferId::output);
    // Sources in the order of ranks: that of rank `rank` is the input.
    for (std::uint32_t i = 0; i < 4; ++i) {
      const bool viewed = operand(plan, *reductions[0], i + 1).view != Operand::none;
      EXPECT_EQ(viewed, i != static_cast<std::uint32_t>(rank)) << rank << " " << i;
    }
    EXPECT_EQ(count_of(plan_of("direct", Collective::allreduce, rank, {}), StepKind::reduce), 3U);
  }
}

TEST(Plan, keeps_apart_reductions_whose_partial_sum_is_read) {
  ScheduleBuilder program = builder(1);
  program.recv(1, tmp(0, 0));
  program.recv(2, tmp(1, 0));
  program.reduce(in(0), tmp(0, 0), tmp(2, 0));
  program.send(3, tmp(2, 0));
  program.reduce(tmp(2, 0), tmp(1, 0), out(0));
  const Plan plan = make_plan(std::move(program).finish(), false, {.views = ViewUse::full});
  EXPECT_EQ(count_of(plan, StepKind::reduce), 2U);
}

TEST(Plan, marks_results_that_nobody_reads_as_kept) {
  ScheduleBuilder program = builder(3);
  program.copy(in(0), tmp(0, 0));
  program.reduce(in(0), tmp(0, 0), out(0));
  program.copy(in(1), out(1));
  program.send(1, out(1));
  const Plan plan = make_plan(std::move(program).finish(), false, {});
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_FALSE(plan.steps[0].kept);
  EXPECT_TRUE(plan.steps[1].kept);
  EXPECT_FALSE(plan.steps[2].kept);
}

TEST(Plan, packs_the_runs_of_a_message) {
  ScheduleBuilder program = builder();
  const Slice runs[] = {in(0), in(2, 2)};
  program.send(1, runs);
  const Plan plan = make_plan(std::move(program).finish(), false, {});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].kind, StepKind::copy);
  EXPECT_EQ(plan.steps[0].operands, 4U);
  EXPECT_EQ(plan.steps[1].kind, StepKind::send);
  EXPECT_EQ(plan.steps[1].operands, 1U);
  EXPECT_EQ(plan.steps[1].runs, 2U);
  EXPECT_EQ(plan.slots, 1U);
  EXPECT_EQ(plan.in_degrees, (std::vector<std::uint16_t>{0, 1}));
}

Schedule recv_of_two_runs() {
  ScheduleBuilder program = builder();
  const Slice runs[] = {out(0), out(2, 2)};
  program.recv(1, runs);
  return std::move(program).finish();
}

TEST(Plan, unpacks_the_runs_of_a_message_from_scratch) {
  const Plan plan = make_plan(recv_of_two_runs(), false, {});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].operands, 1U);
  EXPECT_EQ(plan.steps[1].kind, StepKind::copy);
  EXPECT_EQ(plan.steps[1].operands, 4U);
  EXPECT_EQ(plan.slots, 1U);
}

TEST(Plan, unpacks_the_runs_of_a_message_from_where_it_lies) {
  const Plan plan = make_plan(recv_of_two_runs(), false, {.views = ViewUse::full});
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].view, 0U);
  EXPECT_EQ(operand(plan, plan.steps[1], 0).view, 0U);
  EXPECT_EQ(operand(plan, plan.steps[1], 2).view, 0U);
  EXPECT_EQ(plan.view_readers, std::vector<std::uint32_t>{2});
  EXPECT_EQ(plan.slots, 0U);
}

TEST(Plan, stages_a_private_buffer_once_for_all_its_sends) {
  ScheduleBuilder program = builder(2);
  program.send(1, in(0));
  program.send(2, in(0));
  program.send(3, in(1));
  const Schedule schedule = std::move(program).finish();
  const Plan plan = make_plan(schedule, false, {.views = ViewUse::full, .private_input = true});
  EXPECT_EQ(count_of(plan, StepKind::copy), 2U);
  for (const PlanStep* send : steps_of(plan, StepKind::send)) {
    EXPECT_EQ(operand(plan, *send, 0).slice.buffer, BufferId::scratch);
  }
  EXPECT_EQ(count_of(make_plan(schedule, false, {.views = ViewUse::full, .private_output = true}),
                     StepKind::copy),
            0U);
}

TEST(Plan, stages_a_private_buffer_again_after_it_was_overwritten) {
  ScheduleBuilder program = builder(1, shape_in_place);
  program.send(1, out(0));
  program.recv(2, tmp(0, 0));
  program.reduce(out(0), tmp(0, 0), out(0));
  program.send(3, out(0));
  const Schedule schedule = std::move(program).finish();
  const Lowering lowering{.views = ViewUse::full, .private_input = true, .private_output = true};
  const Plan plan = make_plan(schedule, true, lowering);
  const auto sends = steps_of(plan, StepKind::send);
  EXPECT_EQ(count_of(plan, StepKind::copy), 2U);
  EXPECT_NE(operand(plan, *sends[0], 0).slice.slot, operand(plan, *sends[1], 0).slice.slot);
}

/// In place, the input that was staged is overwritten through the output.
TEST(Plan, knows_that_input_and_output_are_one_in_place) {
  ScheduleBuilder program = builder(1, shape_in_place);
  program.send(1, in(0));
  program.recv(2, out(0));
  program.send(3, in(0));
  const Plan plan =
      make_plan(std::move(program).finish(), true, {.views = ViewUse::full, .private_input = true});
  EXPECT_EQ(count_of(plan, StepKind::copy), 2U);
}

TEST(Plan, keeps_the_order_that_signals_and_fences_ask_for) {
  for (const ViewUse views : {ViewUse::none, ViewUse::cautious, ViewUse::full}) {
    ScheduleBuilder program = builder(2);
    program.wait_signal(1);
    program.fence();
    program.send(2, in(0));
    program.fence();
    program.signal(3);
    const Plan plan = make_plan(std::move(program).finish(), false, {.views = views});
    ASSERT_EQ(plan.steps.size(), 3U);
    EXPECT_EQ(plan.steps[0].runs, 0U);
    EXPECT_EQ(plan.in_degrees[0], 0U);
    EXPECT_EQ(plan.in_degrees[1], 1U);
    EXPECT_GE(plan.in_degrees[2], 1U);
    EXPECT_EQ(plan.successors[plan.first_successor[0]], 1U);
  }
}

std::vector<Plan> plans_of(const std::vector<Schedule>& schedules, bool in_place, ViewUse views) {
  std::vector<Plan> plans;
  for (const Schedule& each : schedules)
    plans.push_back(make_plan(each, in_place, {.views = views}));
  return plans;
}

/// Each rank overwrites what it sent when it has read the other's message, which lies in what the
/// other one sent.
TEST(Plan, that_waits_in_a_circle_for_views_is_noticed) {
  std::vector<Schedule> schedules;
  for (const Rank rank : {0, 1}) {
    ScheduleBuilder program(Collective::allreduce, {rank, 2, 0, true}, 1);
    program.send(1 - rank, out(0));
    program.recv(1 - rank, tmp(0, 0));
    program.reduce(out(0), tmp(0, 0), out(0));
    schedules.push_back(std::move(program).finish());
  }
  EXPECT_FALSE(completes(plans_of(schedules, true, ViewUse::full)));
  EXPECT_TRUE(completes(plans_of(schedules, true, ViewUse::cautious)));
  EXPECT_TRUE(completes(plans_of(schedules, true, ViewUse::none)));
}

TEST(Plan, of_every_algorithm_completes_without_views_and_with_cautious_ones) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {2, 3, 4, 7}) {
      for (const bool in_place : {false, true}) {
        const Shape each{0, size, size - 1, in_place};
        if (!refusal(*algorithm, each, {}).empty()) continue;
        const auto schedules = generate_all(*algorithm, each, {});
        for (const ViewUse views : {ViewUse::none, ViewUse::cautious}) {
          EXPECT_TRUE(completes(plans_of(schedules, in_place, views)))
              << name(algorithm->collective) << "/" << algorithm->name << " " << size
              << (in_place ? " in place" : "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace commtune::test
