// Hierarchical allgather: leaders exchange whole groups.
//
//   1: inside every group, gather to its first rank, the leader
//   2: between the leaders, allgather of the groups' parts, which are runs as groups are made of
//      consecutive ranks; with `cluster`, this algorithm again on groups of leaders
//   3: inside every group, broadcast of everything from the leader
//   The algorithms of the three are free: intra (for 1 and 3, or one each as "a+b") and inter.
//
//   cost: T_gather(g, m) + T_allgather(P/g, g m) + T_broadcast(g, P m), g ranks in a group
//   Wins for short parts where messages inside a group are much cheaper than between groups.
//   Traeff, "Efficient Allgather for Regular SMP-Clusters", EuroPVM/MPI 2006.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::gather, "binomial"}, {Collective::broadcast, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::allgather, "ring"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::allgather, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank);
  const auto members = groups.ranks(group);
  const auto part_of_member = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back({groups.run(group, blocks).first + part * blocks, blocks});
  };
  const auto parts_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(groups.run(static_cast<Rank>(part), blocks));
  };
  composer.embed({intra_program(hierarchy, params, 0), members, 0, part_of_member, parent_input,
                  parent_output});
  composer.embed({inter_program(hierarchy, params), groups.leaders(), 0, parts_of_group,
                  parent_output, parent_output});
  composer.embed({intra_program(hierarchy, params, 1), members, 0,
                  one_run({0, static_cast<std::uint32_t>(shape.size) * blocks}), parent_output,
                  parent_output});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm allgather_hierarchical{
    .collective = Collective::allgather,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary = "gather in groups, allgather between leaders, broadcast in groups (Traeff 2006)",
    .cost = "T_gather(g, m) + T_allgather(P/g, g m) + T_broadcast(g, P m), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
