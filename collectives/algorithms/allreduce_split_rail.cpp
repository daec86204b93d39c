// Split-rail allreduce: every rank of a group carries its share of the vector between the groups.
//
//   1: inside every group of g ranks, reduce-scatter: position i gets the sum of chunk i of g
//   2: on every rail, the ranks at one position in all groups, allreduce of that chunk; the rails
//      run side by side. With `cluster`, this algorithm again on groups of groups
//   3: inside every group, allgather of the chunks
//   The algorithms of the three are free: intra (for 1 and 3, or one each as "a+b") and inter.
//
//   cost: T_reduce_scatter(g, n) + T_allreduce(P/g, n/g) + T_allgather(g, n)
//   Wins for long vectors: each port between groups carries n/g, and all of them work at once.
//   Needs groups of one size. Every chunk is made once per rail: all ranks hold identical bits.
//   Cho, Finkler & Kung, "BlueConnect", MLSys 2019.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::reduce_scatter, "ring"}, {Collective::allgather, "ring"}};
constexpr Hierarchy hierarchy{intra, {Collective::allreduce, "ring"}, generate, refuse_shape, true};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t chunk = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::allreduce, shape,
                          chunk * static_cast<std::uint32_t>(groups.width));
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank), position = shape.rank - groups.first(group);
  const auto chunk_of = [chunk](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back({part * chunk, chunk});
  };
  const auto members = groups.ranks(group);
  composer.embed(
      {intra_program(hierarchy, params, 0), members, 0, chunk_of, parent_input, parent_output});
  composer.embed({inter_program(hierarchy, params), groups.leaders(position), 0,
                  one_run({static_cast<std::uint32_t>(position) * chunk, chunk}), parent_output,
                  parent_output});
  composer.embed(
      {intra_program(hierarchy, params, 1), members, 0, chunk_of, parent_output, parent_output});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm allreduce_split_rail{
    .collective = Collective::allreduce,
    .name = "split_rail",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary =
        "reduce-scatter in groups, an allreduce per position between groups, allgather in groups "
        "(Cho, Finkler & Kung 2019)",
    .cost = "T_reduce_scatter(g, n) + T_allreduce(P/g, n/g) + T_allgather(g, n)",
    .needs = "more than one group, of one size",
    .refuse = refuse_shape};

}  // namespace commtune
