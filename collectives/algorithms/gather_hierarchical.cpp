// Hierarchical gather: every group sends its parts together.
//
//   Each group's first rank leads it, in the group of the root the root.
//   1: inside every group, gather to the leader, into scratch
//   2: between the leaders, gather of the groups' parts to the root; with `cluster`, this algorithm
//      again on groups of leaders
//   The algorithms of both are free: intra and inter.
//
//   cost: T_gather(g, m) + T_gather(P/g, g m), g ranks in a group
//   Wins for short parts where messages inside a group are much cheaper than between groups.
//   Kielmann, Hofman, Bal, Plaat & Bhoedjang, "MagPIe", PPoPP 1999.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::gather, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::gather, "binomial"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  const std::uint32_t all = static_cast<std::uint32_t>(shape.size) * blocks;
  ScheduleBuilder program(Collective::gather, shape, blocks);
  Composer composer(program, shape);
  const auto leaders = groups.leaders(0, shape.root);
  const auto inside = [&](Rank group) {
    const BlockRun own = groups.run(group, blocks);
    const auto part_of_member = [own, blocks](std::uint32_t part, std::vector<BlockRun>& runs) {
      runs.push_back({own.first + part * blocks, blocks});
    };
    const Rank leader = leaders[static_cast<std::size_t>(group)] - groups.first(group);
    return SubCollective{intra_program(hierarchy, params, 0),
                         groups.ranks(group),
                         leader,
                         part_of_member,
                         parent_input,
                         no_scratch,
                         {all, {}}};
  };
  const auto parts_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(groups.run(static_cast<Rank>(part), blocks));
  };
  const Rank group = groups.of(shape.rank);
  const bool leader = shape.rank == leaders[static_cast<std::size_t>(group)];
  SubCollective first = inside(group);
  add_cuts(first.cuts, first);
  if (leader) first.output = composer.scratch({groups.run(group, blocks)}, first.cuts);
  composer.embed(first);
  if (leader) {
    SubCollective second{inter_program(hierarchy, params),
                         leaders,
                         groups.of(shape.root),
                         parts_of_group,
                         first.output,
                         parent_output,
                         {all, {}}};
    for (Rank each = 0; each < groups.count(); ++each) add_cuts(second.cuts, inside(each));
    composer.embed(second);
  }
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm gather_hierarchical{
    .collective = Collective::gather,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary = "gather in groups, then between leaders (Kielmann et al. 1999)",
    .cost = "T_gather(g, m) + T_gather(P/g, g m), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
