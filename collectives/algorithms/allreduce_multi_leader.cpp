// Multi-leader allreduce: the vector is cut in `leaders` parts, and another rank of every group
// leads each of them.
//
//   1: inside every group, reduce part l to the rank at position l (counted around a smaller group)
//   2: for every l, allreduce of part l between the leaders l of all groups, side by side; with
//      `cluster`, this algorithm again on groups of leaders
//   3: inside every group, broadcast part l from its leader
//   The algorithms of the three are free: intra (for 1 and 3, or one each as "a+b") and inter.
//
//   cost: about T_reduce(g, n) + T_allreduce(P/g, n/l) + T_broadcast(g, n) with l leaders
//   Wins between one leader and split rails: medium vectors, groups of many ranks, fewer ports than
//   ranks. Every part is made as in allreduce/hierarchical: all ranks hold identical bits.
//   Bayatpour, Chakraborty, Subramoni, Lu & Panda, SC 2017.
#include <fmt/format.h>

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
  const std::uint32_t part = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::allreduce, shape, part * params.leaders);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank);
  const auto members = groups.ranks(group);
  const auto leads = [&](std::uint32_t of) {
    return static_cast<Rank>(of) % groups.members(group);
  };
  const auto vector = [&](std::uint32_t of) { return one_run({of * part, part}); };
  for (std::uint32_t of = 0; of < params.leaders; ++of) {
    composer.embed({intra_program(hierarchy, params, 0), members, leads(of), vector(of),
                    parent_input, parent_output});
  }
  for (std::uint32_t of = 0; of < params.leaders; ++of) {
    composer.embed({inter_program(hierarchy, params), groups.leaders(static_cast<Rank>(of)), 0,
                    vector(of), parent_output, parent_output});
  }
  for (std::uint32_t of = 0; of < params.leaders; ++of) {
    composer.embed({intra_program(hierarchy, params, 1), members, leads(of), vector(of),
                    parent_output, parent_output});
  }
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  if (params.leaders == 0 || params.leaders > params.group) {
    return fmt::format("groups of {} cannot have {} leaders", params.group, params.leaders);
  }
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm allreduce_multi_leader{
    .collective = Collective::allreduce,
    .name = "multi_leader",
    .generate = generate,
    .tunables = "segments,leaders,group,cluster,intra,inter",
    .summary =
        "reduce and broadcast in groups, each part of the vector with a leader of its own "
        "(Bayatpour et al. 2017)",
    .cost = "T_reduce(g, n) + T_allreduce(P/g, n/l) + T_broadcast(g, n), l leaders in a group of g",
    .needs = "more than one group, and no more leaders than ranks in a group",
    .refuse = refuse_shape};

}  // namespace commtune
