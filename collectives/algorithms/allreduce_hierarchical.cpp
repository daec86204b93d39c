// Hierarchical allreduce: one leader per group takes part between the groups.
//
//   1: inside every group, reduce to its first rank, the leader
//   2: between the leaders, allreduce; with `cluster`, this algorithm again on groups of leaders
//   3: inside every group, broadcast from the leader
//   The algorithms of the three are free: intra (for 1 and 3, or one each as "a+b") and inter.
//
//   cost: T_reduce(g) + T_allreduce(P/g) + T_broadcast(g), g ranks in a group
//   Wins for short and medium vectors where messages inside a group are much cheaper than between
//   groups, and many ranks would share a group's port. The leaders agree bit by bit and the rest
//   are copies; consecutive ranks form a group, so the order of ranks is kept where the parts do.
//   Luo, Wu, Bosilca, Pei, Wang, Patinyasakdikul, Wu & Dongarra, "HAN", IEEE CLUSTER 2020.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::reduce, "binomial"}, {Collective::broadcast, "binomial"}};
constexpr Hierarchy hierarchy{
    intra, {Collective::allreduce, "recursive_doubling"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  Composer composer(program, shape);
  const auto members = groups.ranks(groups.of(shape.rank));
  const PartRuns vector = one_run({0, blocks});
  composer.embed(
      {intra_program(hierarchy, params, 0), members, 0, vector, parent_input, parent_output});
  composer.embed({inter_program(hierarchy, params), groups.leaders(), 0, vector, parent_output,
                  parent_output});
  composer.embed(
      {intra_program(hierarchy, params, 1), members, 0, vector, parent_output, parent_output});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm allreduce_hierarchical{
    .collective = Collective::allreduce,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary = "reduce in groups, allreduce between leaders, broadcast in groups (Luo et al. 2020)",
    .cost = "T_reduce(g) + T_allreduce(P/g) + T_broadcast(g), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
