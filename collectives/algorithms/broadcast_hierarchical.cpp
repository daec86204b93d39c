// Hierarchical broadcast: the vector enters every group once.
//
//   Each group's first rank leads it, in the group of the root the root.
//   1: between the leaders, broadcast from the root; with `cluster`, this algorithm again on groups
//      of leaders
//   2: inside every group, broadcast from the leader
//   The algorithms of both are free: inter and intra.
//
//   cost: T_broadcast(P/g) + T_broadcast(g), g ranks in a group
//   Wins where messages inside a group are much cheaper than between groups. Segments stream
//   through: a leader passes one on inside its group while the next one arrives.
//   Karonis, de Supinski, Foster, Gropp, Lusk & Bresnahan, IPDPS 2000.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::broadcast, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::broadcast, "binomial"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::broadcast, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank);
  const auto leaders = groups.leaders(0, shape.root);
  const Rank leader = leaders[static_cast<std::size_t>(group)] - groups.first(group);
  const PartRuns vector = one_run({0, blocks});
  composer.embed({inter_program(hierarchy, params), leaders, groups.of(shape.root), vector,
                  parent_input, parent_output});
  composer.embed({intra_program(hierarchy, params, 0), groups.ranks(group), leader, vector,
                  parent_output, parent_output});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm broadcast_hierarchical{
    .collective = Collective::broadcast,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary = "broadcast between leaders, then in groups (Karonis et al. 2000)",
    .cost = "T_broadcast(P/g) + T_broadcast(g), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
