// Split-rail alltoall: data changes its position inside the group, then its group along the rail.
//
//   1: inside every group of g ranks, alltoall: position b gets all that the group sends to
//      position b of any group
//   2: on every rail, the ranks at one position in all groups, alltoall: what the g ranks of one
//      group send to one rank is one message. With `cluster`, this algorithm again on groups of
//      groups
//   The algorithms of both are free: intra and inter.
//
//   cost: T_alltoall(g, P/g m) + T_alltoall(P/g, g m), m bytes from one rank to another
//   Wins for short blocks: P/g - 1 messages between groups instead of P - g. Needs groups of one
//   size. All data moves twice.
//   Traeff & Rougier, EuroMPI/ASIA 2014.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::alltoall, "pairwise"}};
constexpr Hierarchy hierarchy{
    intra, {Collective::alltoall, "pairwise"}, generate, refuse_shape, true};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::alltoall, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank), position = shape.rank - groups.first(group);
  const auto part = [&](Rank from, Rank to) {
    return BlockRun{static_cast<std::uint32_t>(from * shape.size + to) * blocks, blocks};
  };
  const auto to_position = [&](std::uint32_t pair, std::vector<BlockRun>& runs) {
    const Rank from = groups.first(group) + static_cast<Rank>(pair) / groups.width;
    const Rank at = static_cast<Rank>(pair) % groups.width;
    for (Rank of = 0; of < groups.count(); ++of) runs.push_back(part(from, groups.first(of) + at));
  };
  const auto to_group = [&](std::uint32_t pair, std::vector<BlockRun>& runs) {
    const Rank from = groups.first(static_cast<Rank>(pair) / groups.count());
    const Rank to = groups.first(static_cast<Rank>(pair) % groups.count()) + position;
    for (Rank at = 0; at < groups.width; ++at) runs.push_back(part(from + at, to));
  };
  std::vector<BlockRun> collected;
  for (Rank at = 0; at < groups.width; ++at) {
    to_position(static_cast<std::uint32_t>(at * groups.width + position), collected);
  }
  const Cuts every_block{1, {0}};
  const Place scratch = composer.scratch(collected, every_block);
  composer.embed({intra_program(hierarchy, params, 0), groups.ranks(group), 0, to_position,
                  parent_input, scratch, every_block});
  composer.embed({inter_program(hierarchy, params), groups.leaders(position), 0, to_group, scratch,
                  parent_output, every_block});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm alltoall_split_rail{
    .collective = Collective::alltoall,
    .name = "split_rail",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary =
        "alltoall in groups by position, then an alltoall per position between groups (Traeff & "
        "Rougier 2014)",
    .cost = "T_alltoall(g, P/g m) + T_alltoall(P/g, g m), g ranks in a group",
    .needs = "more than one group, of one size",
    .refuse = refuse_shape};

}  // namespace commtune
