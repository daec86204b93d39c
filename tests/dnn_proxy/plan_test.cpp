#include "dnn_proxy/replay_engine.hpp"
#include "dnn_proxy/replay_plan.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;
using test::ProgramText;

std::vector<Action::Kind> kinds_of(const std::vector<Action>& actions) {
  std::vector<Action::Kind> kinds;
  for (const Action& action : actions) kinds.push_back(action.kind);
  return kinds;
}
using Kind = Action::Kind;

TEST(ReplayPlan, gives_collectives_in_flight_together_slots_of_their_own) {
  ProgramText p;
  p.begin(3).start(CommKind::allreduce, 10, 0).start(CommKind::allreduce, 20, 1);
  p.run(CommKind::broadcast, 5).wait(0).start(CommKind::allreduce, 10, 2).wait(1).wait(2).end(3, 9);
  const ReplayPlan plan = make_plan(p.workload(2), 0, {});
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].number, 3U);
  EXPECT_EQ(plan.steps[0].recorded_ns, 9);
  EXPECT_EQ(kinds_of(plan.steps[0].actions),
            (std::vector<Kind>{Kind::start, Kind::start, Kind::run, Kind::wait, Kind::start,
                               Kind::wait, Kind::wait}));
  std::vector<std::uint32_t> slots;
  for (const Action& action : plan.steps[0].actions) slots.push_back(action.slot);
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 1, 2, 0, 0, 1, 0}));
  EXPECT_EQ(plan.calls.size(), 3U);
  EXPECT_EQ(plan.slots, 3U);
}

TEST(ReplayPlan, waits_for_the_oldest_when_all_slots_are_taken) {
  ProgramText p;
  for (std::uint64_t i = 0; i < 40; ++i) p.start(CommKind::allreduce, 8, i);
  for (std::uint64_t i = 0; i < 40; ++i) p.wait(i);
  const ReplayPlan plan = make_plan(p.workload(2), 0, {});
  EXPECT_EQ(plan.slots, replay_slots);
  EXPECT_EQ(plan.early_waits, 40U - replay_slots);
  std::size_t in_flight = 0, most = 0, waits = 0;
  for (const Action& action : plan.steps.at(0).actions) {
    if (action.kind == Kind::start) most = std::max(most, ++in_flight);
    if (action.kind == Kind::wait) ++waits, --in_flight;
  }
  EXPECT_EQ(most, replay_slots);
  EXPECT_EQ(waits, 40U);
  EXPECT_LE(replay_slots * lanes_per_slot, lane_count - 1);
}

TEST(ReplayPlan, keeps_what_lies_between_steps_out_of_them) {
  ProgramText p;
  p.run(CommKind::barrier, 0).begin(0).run(CommKind::allreduce, 4).end(0);
  p.run(CommKind::barrier, 0).begin(1).run(CommKind::allreduce, 4).end(1).compute(50, 0);
  const ReplayPlan plan = make_plan(p.workload(2), 0, {});
  ASSERT_EQ(plan.steps.size(), 2U);
  for (const StepPlan& step : plan.steps) {
    EXPECT_EQ(step.before.size(), 1U);
    EXPECT_EQ(step.actions.size(), 1U);
  }
  EXPECT_EQ(kinds_of(plan.after), std::vector<Kind>{Kind::compute});
}

TEST(ReplayPlan, scales_compute_and_adds_gaps_only_when_asked) {
  ProgramText p;
  p.begin(0).compute(1000, 400).end(0);
  const Workload w = p.workload(1);
  const auto ns = [&w](double scale, bool gaps) {
    PlanOptions options;
    options.compute_scale = scale;
    options.gaps = gaps;
    const ReplayPlan plan = make_plan(w, 0, options);
    return plan.steps[0].actions.empty() ? 0 : plan.steps[0].actions[0].compute_ns;
  };
  EXPECT_EQ(ns(1, false), 1000);
  EXPECT_EQ(ns(1, true), 1400);
  EXPECT_EQ(ns(0.5, false), 500);
  EXPECT_EQ(ns(0, true), 0);
}

TEST(ReplayPlan, gives_every_rank_a_program) {
  ProgramText a, b;
  a.compute(1, 0).run(CommKind::allreduce, 4);
  b.compute(2, 0).run(CommKind::allreduce, 4);
  Workload w = a.workload(2);
  w.ranks = {0, 1};
  w.programs.push_back(b.workload(2).programs[0]);
  check_replayable(w, 5);
  EXPECT_EQ(make_plan(w, 4, {}).steps[0].actions[0].compute_ns, 1);
  EXPECT_EQ(make_plan(w, 3, {}).steps[0].actions[0].compute_ns, 2);
  EXPECT_EQ(communication_of(make_plan(w, 0, {})), communication_of(make_plan(w, 1, {})));
}

TEST(Replayable, refuses_what_it_cannot_run_by_name) {
  ProgramText exotic;
  exotic.run(CommKind::all_to_all, 10).run(CommKind::all_to_all, 10).run(CommKind::reduce, 3);
  const std::string message = error_of([&] { check_replayable(exotic.workload(2), 2); });
  expect_contains(message, "all_to_all (2 operations, 80 bytes)");
  expect_contains(
      message,
      "it has allreduce, broadcast, allgather, reduce_scatter, barrier, reduce, gather, "
      "scatter");

  ProgramText rooted_text;
  rooted_text.run(CommKind::broadcast, 3);
  Workload far_root = rooted_text.workload(4);
  far_root.programs[0][0].root = 3;
  check_replayable(far_root, 4);
  expect_contains(error_of([&] { check_replayable(far_root, 2); }), "root 3");

  Workload part = rooted_text.workload(4);
  part.groups[0].ranks = {0, 1};
  expect_contains(error_of([&] { check_replayable(part, 2); }), "group \"world\" of 2 ranks of 4");

  ProgramText nothing;
  nothing.begin(0).end(0);
  expect_contains(error_of([&] { check_replayable(nothing.workload(1), 1); }), "nothing to replay");
}

TEST(Replayable, refuses_ranks_that_communicate_differently) {
  ProgramText a, b;
  a.run(CommKind::allreduce, 4);
  b.run(CommKind::allreduce, 5);
  Workload w = a.workload(2);
  w.ranks = {0, 1};
  w.programs.push_back(b.workload(2).programs[0]);
  expect_contains(error_of([&] { check_replayable(w, 2); }), "rank 1");
}

TEST(AlgorithmChoice, takes_the_first_name_that_fits_and_refuses_one_that_fits_nothing) {
  ProgramText p;
  p.run(CommKind::allreduce, 4).run(CommKind::broadcast, 4);
  const ReplayPlan plan = make_plan(p.workload(2), 0, {});
  const auto choices = choose_algorithms(plan, {"ring"}, 2, {});
  EXPECT_EQ(choices[0].used, "ring");
  EXPECT_EQ(choices[0].evidence, "asked by name");
  EXPECT_EQ(choices[1].asked, "auto");
  ASSERT_NE(choices[1].algorithm, nullptr);
  EXPECT_EQ(choose_algorithms(plan, {"native"}, 2, {})[0].algorithm, nullptr);
  expect_contains(error_of([&] { choose_algorithms(plan, {"dissemination"}, 2, {}); }),
                  "dissemination");
  expect_contains(error_of([&] { choose_algorithms(plan, {"all"}, 2, {}); }), "one algorithm");
}

}  // namespace
}  // namespace commtune
