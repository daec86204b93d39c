// Split-rail reduce-scatter: every rank of a group carries its rail between the groups.
//
//   1: inside every group of g ranks, reduce-scatter: position i gets the group's sums for its
//   rail,
//      the parts of the ranks at position i in all groups
//   2: on every rail, reduce-scatter; the rails run side by side. With `cluster`, this algorithm
//      again on groups of groups
//   The algorithms of both are free: intra and inter.
//
//   cost: T_reduce_scatter(g, n) + T_reduce_scatter(P/g, n/g), g ranks in a group
//   Wins for long vectors: each port between groups carries n/g, and all of them work at once.
//   Needs groups of one size.
//   Cho, Finkler & Kung, "BlueConnect", MLSys 2019.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::reduce_scatter, "ring"}};
constexpr Hierarchy hierarchy{
    intra, {Collective::reduce_scatter, "ring"}, generate, refuse_shape, true};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::reduce_scatter, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank), position = shape.rank - groups.first(group);
  const auto part_at = [&](Rank of, Rank at) {
    return BlockRun{static_cast<std::uint32_t>(groups.first(of) + at) * blocks, blocks};
  };
  const auto rail = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    for (Rank of = 0; of < groups.count(); ++of) {
      runs.push_back(part_at(of, static_cast<Rank>(part)));
    }
  };
  const auto part_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(part_at(static_cast<Rank>(part), position));
  };
  SubCollective inside{intra_program(hierarchy, params, 0),
                       groups.ranks(group),
                       0,
                       rail,
                       parent_input,
                       no_scratch,
                       {static_cast<std::uint32_t>(shape.size) * blocks, {}}};
  add_cuts(inside.cuts, inside);
  std::vector<BlockRun> own;
  rail(static_cast<std::uint32_t>(position), own);
  inside.output = composer.scratch(own, inside.cuts);
  composer.embed(inside);
  composer.embed({inter_program(hierarchy, params), groups.leaders(position), 0, part_of_group,
                  inside.output, parent_output, inside.cuts});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm reduce_scatter_split_rail{
    .collective = Collective::reduce_scatter,
    .name = "split_rail",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary =
        "reduce-scatter in groups, then a reduce-scatter per position between groups (Cho, Finkler "
        "& Kung 2019)",
    .cost = "T_reduce_scatter(g, n) + T_reduce_scatter(P/g, n/g), g ranks in a group",
    .needs = "more than one group, of one size",
    .refuse = refuse_shape};

}  // namespace commtune
