// Split-rail allgather: every rank of a group collects its rail, then the group shares the rails.
//
//   1: on every rail, the ranks at one position in all groups, allgather; the rails run side by
//      side. With `cluster`, this algorithm again on groups of groups
//   2: inside every group, allgather of the rails: position i's part is P/g parts, one of each
//   group The algorithms of both are free: inter and intra.
//
//   cost: T_allgather(P/g, m) + T_allgather(g, P/g m), g ranks in a group
//   Wins for long parts: every part enters a group once, over all ports at once. Needs groups of
//   one size.
//   Bienz, Gautam & Kharel, "A Locality-Aware Bruck Allgather", EuroMPI/USA 2022.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::allgather, "ring"}};
constexpr Hierarchy hierarchy{intra, {Collective::allgather, "ring"}, generate, refuse_shape, true};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::allgather, shape, blocks);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank), position = shape.rank - groups.first(group);
  const auto part_at = [&](Rank of, Rank at) {
    return BlockRun{static_cast<std::uint32_t>(groups.first(of) + at) * blocks, blocks};
  };
  const auto part_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(part_at(static_cast<Rank>(part), position));
  };
  const auto rail = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    for (Rank of = 0; of < groups.count(); ++of) {
      runs.push_back(part_at(of, static_cast<Rank>(part)));
    }
  };
  composer.embed({inter_program(hierarchy, params), groups.leaders(position), 0, part_of_group,
                  parent_input, parent_output});
  composer.embed({intra_program(hierarchy, params, 0), groups.ranks(group), 0, rail, parent_output,
                  parent_output});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm allgather_split_rail{
    .collective = Collective::allgather,
    .name = "split_rail",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary =
        "an allgather per position between groups, then allgather in groups (Bienz, Gautam & "
        "Kharel 2022)",
    .cost = "T_allgather(P/g, m) + T_allgather(g, P/g m), g ranks in a group",
    .needs = "more than one group, of one size",
    .refuse = refuse_shape};

}  // namespace commtune
