// Hierarchical scatter: the parts of a group travel together.
//
//   Each group's first rank leads it, in the group of the root the root.
//   1: between the leaders, scatter of the groups' parts from the root, into scratch; with
//      `cluster`, this algorithm again on groups of leaders
//   2: inside every group, scatter from the leader
//   The algorithms of both are free: inter and intra.
//
//   cost: T_scatter(P/g, g m) + T_scatter(g, m), g ranks in a group
//   Wins for short parts where messages inside a group are much cheaper than between groups.
//   Kielmann, Hofman, Bal, Plaat & Bhoedjang, "MagPIe", PPoPP 1999.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::scatter, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::scatter, "binomial"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::scatter, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank);
  const BlockRun own = groups.run(group, blocks);
  const auto leaders = groups.leaders(0, shape.root);
  const Rank leader = leaders[static_cast<std::size_t>(group)];
  const auto parts_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(groups.run(static_cast<Rank>(part), blocks));
  };
  const auto part_of_member = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back({own.first + part * blocks, blocks});
  };
  SubCollective first{inter_program(hierarchy, params),
                      leaders,
                      groups.of(shape.root),
                      parts_of_group,
                      parent_input,
                      no_scratch,
                      {static_cast<std::uint32_t>(shape.size) * blocks, {}}};
  add_cuts(first.cuts, first);
  if (shape.rank == leader) first.output = composer.scratch({own}, first.cuts);
  composer.embed(first);
  composer.embed({intra_program(hierarchy, params, 0), groups.ranks(group),
                  leader - groups.first(group), part_of_member, first.output, parent_output,
                  first.cuts});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm scatter_hierarchical{
    .collective = Collective::scatter,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary = "scatter between leaders, then in groups (Kielmann et al. 1999)",
    .cost = "T_scatter(P/g, g m) + T_scatter(g, m), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
