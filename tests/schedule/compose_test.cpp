#include "collectives/schedule/compose.hpp"

#include <gtest/gtest.h>

#include "collectives/schedule/hierarchy.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

SubProgram program_of(Collective collective, std::string_view algorithm,
                      std::uint32_t segments = 1) {
  Params params;
  params.segments = segments;
  return {collective, find_algorithm(collective, algorithm, "test").generate, params};
}

/// A linear broadcast in two messages.
Schedule two_pieces(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::broadcast, shape, 2);
  for (const std::uint32_t piece : {0U, 1U}) {
    if (shape.rank == shape.root) {
      for (Rank peer = 0; peer < shape.size; ++peer) {
        if (peer != shape.root) program.send(peer, in(piece));
      }
    } else {
      program.recv(shape.root, out(piece));
    }
  }
  if (shape.rank == shape.root) program.copy(in(0, 2), out(0, 2));
  return std::move(program).finish();
}

constexpr Place in_output = parent_output;

TEST(Cuts, find_the_next_one_across_periods) {
  const Cuts cuts{4, {1, 3}};
  EXPECT_EQ(cuts.after(0), 1U);
  EXPECT_EQ(cuts.after(1), 3U);
  EXPECT_EQ(cuts.after(3), 5U);
  EXPECT_EQ(cuts.after(6), 7U);
}

TEST(CommonBlocks, divide_evenly_where_that_is_cheap) {
  const std::uint32_t even[] = {2, 3, 4}, uneven[] = {63, 64, 61}, nothing[] = {0};
  EXPECT_EQ(common_blocks(even), 12U);
  EXPECT_EQ(common_blocks(uneven), 512U);
  EXPECT_EQ(common_blocks(nothing), 1U);
}

TEST(Composer, maps_ranks_blocks_and_slots) {
  // Ring allreduce of ranks 4 and 1, in that order, on blocks [2, 6) of 6.
  const Shape shape{1, 5, 0, false};
  ScheduleBuilder builder(Collective::allreduce, shape, 6);
  Composer composer(builder, shape);
  EXPECT_EQ(composer.slot(), 0U);
  composer.embed({program_of(Collective::allreduce, "ring"), {4, 1}, 0, one_run({2, 4})});
  const Schedule whole = std::move(builder).finish();
  const Schedule inner =
      program_of(Collective::allreduce, "ring").generate({1, 2, 0, false}, Params{});
  ASSERT_EQ(inner.space.blocks, 2U);
  ASSERT_EQ(whole.steps.size(), inner.steps.size());
  for (std::size_t i = 0; i < inner.steps.size(); ++i) {
    const Step &step = whole.steps[i], &from = inner.steps[i];
    EXPECT_EQ(step.kind, from.kind);
    EXPECT_EQ(step.first, 2 + 2 * from.first);
    EXPECT_EQ(step.count, 2 * from.count);
    EXPECT_EQ(step.peer, from.peer < 0 ? -1 : 4);
    if (step.kind == StepKind::recv && step.dst == BufferId::scratch) {
      EXPECT_GE(step.dst_slot, 1);
    }
  }
  EXPECT_EQ(edges(whole), edges(inner));
}

TEST(Composer, cuts_a_part_as_evenly_as_possible) {
  const Shape shape{1, 2, 0, false};
  ScheduleBuilder builder(Collective::broadcast, shape, 5);
  Composer(builder, shape)
      .embed({{Collective::broadcast, two_pieces, {}}, {0, 1}, 0, one_run({0, 5})});
  const Schedule schedule = std::move(builder).finish();
  ASSERT_EQ(schedule.steps.size(), 2U);
  EXPECT_EQ(schedule.steps[0].count, 2U);
  EXPECT_EQ(schedule.steps[1].first, 2U);
  EXPECT_EQ(schedule.steps[1].count, 3U);
}

TEST(Composer, joins_the_runs_of_a_part_into_one_message_and_leaves_out_empty_parts) {
  const auto generate = [](Rank rank) {
    const Shape shape{rank, 3, 0, false};
    ScheduleBuilder builder(Collective::broadcast, shape, 5);
    const auto odd_ones = [](std::uint32_t, std::vector<BlockRun>& runs) {
      runs.insert(runs.end(), {{1, 1}, {3, 1}});
    };
    const auto none = [](std::uint32_t, std::vector<BlockRun>&) {};
    const SubProgram binomial = program_of(Collective::broadcast, "binomial");
    Composer composer(builder, shape);
    composer.embed({binomial, {0, 2}, 0, odd_ones});
    composer.embed({binomial, {0, 2}, 0, none});
    return std::move(builder).finish();
  };
  const Schedule receiver = generate(2);
  ASSERT_EQ(receiver.steps.size(), 2U);
  EXPECT_TRUE(receiver.steps[0].joined);
  EXPECT_FALSE(receiver.steps[1].joined);
  EXPECT_EQ(receiver.steps[1].first, 3U);
  EXPECT_TRUE(generate(1).steps.empty());
}

TEST(Composer, runs_in_place_where_input_and_output_are_one_buffer) {
  const Shape shape{0, 2, 0, false};
  ScheduleBuilder builder(Collective::allreduce, shape, 1);
  Composer(builder, shape)
      .embed(
          {program_of(Collective::broadcast, "binomial"), {0, 1}, 0, one_run({0, 1}), in_output});
  const Schedule schedule = std::move(builder).finish();
  ASSERT_EQ(schedule.steps.size(), 1U);
  EXPECT_EQ(schedule.steps[0].a, BufferId::output);
}

TEST(Composer, keeps_the_order_of_signals) {
  const auto order = [](std::string_view algorithm) {
    std::vector<Schedule> all;
    for (Rank rank = 0; rank < 7; ++rank) {
      const Shape shape{rank, 7, 0, false};
      ScheduleBuilder builder(Collective::barrier, shape, 0);
      Composer(builder, shape)
          .embed({program_of(Collective::barrier, algorithm), {3, 0, 6, 1, 5, 2, 4}});
      all.push_back(std::move(builder).finish());
    }
    return verify(Collective::barrier, 0, false, all);
  };
  for (const Algorithm* each : algorithms()) {
    if (each->collective == Collective::barrier &&
        refusal(*each, {0, 7, 0, false}, Params{}).empty()) {
      EXPECT_FALSE(order(each->name)) << each->name;
    }
  }
}

/// Rank 0 sends two pieces through an area of scratch at rank 1 to rank 2.
std::vector<Schedule> through_scratch(const Cuts& area, const Cuts& messages) {
  std::vector<Schedule> all;
  for (Rank rank = 0; rank < 3; ++rank) {
    const Shape shape{rank, 3, 0, false};
    ScheduleBuilder builder(Collective::broadcast, shape, 4);
    Composer composer(builder, shape);
    const Place scratch = rank < 2 ? composer.scratch({{0, 4}}, area) : no_scratch;
    const SubProgram pieces{Collective::broadcast, two_pieces, {}};
    const SubProgram whole = program_of(Collective::broadcast, "binomial");
    composer.embed({pieces, {0, 1}, 0, one_run({0, 4}), parent_input, scratch, area});
    composer.embed({whole, {1, 2}, 0, one_run({0, 4}), scratch, parent_output, messages});
    composer.embed({whole, {2, 0, 1}, 0, one_run({0, 4}), in_output});
    all.push_back(std::move(builder).finish());
  }
  return all;
}

TEST(ComposerScratch, holds_pieces_that_others_read_as_one_message) {
  const Cuts halves{4, {0, 2}};
  const auto all = through_scratch(halves, halves);
  EXPECT_FALSE(verify(Collective::broadcast, 0, false, all));
}

TEST(ComposerScratch, refuses_to_write_a_fraction_of_a_piece_or_to_read_across_pieces) {
  const Cuts halves{4, {0, 2}};
  EXPECT_EQ(usage_error([&] { through_scratch({}, {}); }),
            "embed: blocks 0+2 are a fraction of the piece of scratch 0+4");
  EXPECT_EQ(usage_error([&] { through_scratch(halves, {}); }),
            "embed: blocks 0+4 leave the piece of scratch 0+2; cut there");
}

TEST(ComposerScratch, belongs_to_those_who_made_it) {
  const Shape shape{0, 2, 0, false};
  ScheduleBuilder builder(Collective::broadcast, shape, 1);
  Composer composer(builder, shape);
  EXPECT_EQ(usage_error([&] {
              composer.embed({program_of(Collective::broadcast, "binomial"),
                              {0, 1},
                              0,
                              one_run({0, 1}),
                              no_scratch,
                              parent_output});
            }),
            "embed: rank 0 uses blocks 0+1 of scratch that it does not have");
}

TEST(AddCuts, names_where_outputs_begin) {
  Cuts cuts{12, {}};
  SubCollective sub{{Collective::broadcast, two_pieces, {}}, {0, 1}, 0, one_run({4, 6})};
  add_cuts(cuts, sub);
  EXPECT_EQ(cuts.at, (std::vector<std::uint32_t>{4, 7, 10}));
}

TEST(Groups, are_runs_of_ranks_of_which_the_last_may_be_short) {
  Params params;
  params.group = 3;
  const Groups groups(8, params);
  EXPECT_EQ(groups.count(), 3);
  EXPECT_EQ(groups.last_members(), 2);
  EXPECT_EQ(groups.ranks(2), (std::vector<Rank>{6, 7}));
  EXPECT_EQ(groups.leaders(2), (std::vector<Rank>{2, 5, 6}));
  EXPECT_EQ(groups.leaders(0, 4), (std::vector<Rank>{0, 4, 6}));
  EXPECT_EQ(groups.run(2, 10), (BlockRun{60, 20}));
}

std::string refused(std::string_view algorithm, Rank size, const Params& params) {
  return refusal(find_algorithm(Collective::allreduce, algorithm, "test"), {0, size, 0, false},
                 params);
}

TEST(HierarchyRefusal, says_why_groups_do_not_fit) {
  Params params;
  params.group = 4;
  EXPECT_EQ(refused("hierarchical", 4, params), "4 ranks in groups of 4 are one group only");
  EXPECT_EQ(refused("split_rail", 6, params), "6 ranks do not make equal groups of 4");
  params.cluster = 2;
  EXPECT_EQ(refused("hierarchical", 8, params),
            "outer groups, with groups for ranks: 2 ranks in groups of 2 are one group only");
  params.group = 0;
  EXPECT_EQ(refused("hierarchical", 8, params), "groups need at least one rank");
  params = {};
  params.leaders = 3;
  EXPECT_EQ(refused("multi_leader", 8, params), "groups of 2 cannot have 3 leaders");
}

TEST(HierarchyRefusal, says_what_is_wrong_with_a_name) {
  Params params;
  params.inter = "circle";
  EXPECT_EQ(
      refused("hierarchical", 8, params).find("inter: unknown algorithm allreduce/circle; known: "),
      0U);
  params.inter = "hierarchical";
  EXPECT_EQ(refused("hierarchical", 8, params),
            "inter: allreduce/hierarchical: forms groups itself; use cluster for outer groups");
  params.inter = "";
  params.intra = "scatter_allgather";
  EXPECT_EQ(refused("hierarchical", 8, params)
                .find("intra: unknown algorithm reduce/scatter_allgather; known: "),
            0U);
  params.intra = "binomial+scatter_allgather";
  EXPECT_EQ(refused("hierarchical", 8, params), "");
  params.intra = "binomial+binomial+binomial";
  EXPECT_EQ(refused("hierarchical", 8, params),
            "intra: binomial+binomial+binomial names 3 algorithms for 2 phases");
}

TEST(HierarchyRefusal, passes_on_what_the_parts_refuse) {
  Params params;
  params.inter = "neighbor_exchange";
  const Algorithm& part = find_algorithm(Collective::allgather, params.inter, "test");
  const std::string why = refusal(part, {0, 7, 0, false}, Params{});
  ASSERT_NE(why, "");
  const Algorithm& whole = find_algorithm(Collective::allgather, "split_rail", "test");
  EXPECT_EQ(refusal(whole, {0, 14, 0, false}, params),
            "inter: allgather/neighbor_exchange: " + why);
  EXPECT_EQ(refusal(whole, {0, 12, 0, false}, params), "");
}

}  // namespace
}  // namespace commtune
