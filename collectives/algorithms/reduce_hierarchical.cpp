// Hierarchical reduce: every group hands one partial sum to the outside.
//
//   Each group's first rank leads it, in the group of the root the root.
//   1: inside every group, reduce to the leader, into scratch
//   2: between the leaders, reduce to the root; with `cluster`, this algorithm again on groups of
//      leaders
//   The algorithms of both are free: intra and inter.
//
//   cost: T_reduce(g) + T_reduce(P/g), g ranks in a group
//   Wins where messages inside a group are much cheaper than between groups.
//   Kielmann, Hofman, Bal, Plaat & Bhoedjang, "MagPIe", PPoPP 1999.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::reduce, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::reduce, "binomial"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::reduce, shape, blocks);
  Composer composer(program, shape);
  const auto leaders = groups.leaders(0, shape.root);
  const auto inside = [&](Rank group) {
    const Rank leader = leaders[static_cast<std::size_t>(group)] - groups.first(group);
    return SubCollective{intra_program(hierarchy, params, 0),
                         groups.ranks(group),
                         leader,
                         one_run({0, blocks}),
                         parent_input,
                         no_scratch,
                         {blocks, {}}};
  };
  const Rank group = groups.of(shape.rank);
  SubCollective first = inside(group);
  add_cuts(first.cuts, first);
  if (shape.rank == leaders[static_cast<std::size_t>(group)]) {
    first.output = composer.scratch({{0, blocks}}, first.cuts);
  }
  composer.embed(first);

  SubCollective second{inter_program(hierarchy, params),
                       leaders,
                       groups.of(shape.root),
                       one_run({0, blocks}),
                       first.output,
                       parent_output,
                       {blocks, {}}};
  for (const Rank each : {Rank{0}, groups.count() - 1, groups.of(shape.root)}) {
    add_cuts(second.cuts, inside(each));
  }
  composer.embed(second);
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm reduce_hierarchical{
    .collective = Collective::reduce,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary = "reduce in groups, then between leaders (Kielmann et al. 1999)",
    .cost = "T_reduce(g) + T_reduce(P/g), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
