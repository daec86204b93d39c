// Hierarchical reduce-scatter: leaders exchange whole groups.
//
//   1: inside every group, reduce the whole vector to its first rank, the leader
//   2: between the leaders, reduce-scatter: each gets its group's parts, which are a run as groups
//      are made of consecutive ranks; with `cluster`, this algorithm again on groups of leaders
//   3: inside every group, scatter the parts from the leader
//   The algorithms of the three are free: intra (for 1 and 3, or one each as "a+b") and inter.
//
//   cost: T_reduce(g, n) + T_reduce_scatter(P/g, n) + T_scatter(g, g m), g ranks in a group
//   Wins for short parts where messages inside a group are much cheaper than between groups.
//   Kielmann, Hofman, Bal, Plaat & Bhoedjang, "MagPIe", PPoPP 1999.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::reduce, "binomial"}, {Collective::scatter, "binomial"}};
constexpr Hierarchy hierarchy{intra, {Collective::reduce_scatter, "ring"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  const std::uint32_t blocks = blocks_for(hierarchy, groups, params);
  ScheduleBuilder program(Collective::reduce_scatter, shape, blocks);
  Composer composer(program, shape);
  const BlockRun all{0, static_cast<std::uint32_t>(shape.size) * blocks};
  const Rank group = groups.of(shape.rank);
  const BlockRun own = groups.run(group, blocks);
  const bool leader = shape.rank == groups.first(group);
  const auto parts_of_group = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back(groups.run(static_cast<Rank>(part), blocks));
  };
  const auto part_of_member = [&](std::uint32_t part, std::vector<BlockRun>& runs) {
    runs.push_back({own.first + part * blocks, blocks});
  };

  const auto inside = [&](Rank of) {
    return SubCollective{intra_program(hierarchy, params, 0),
                         groups.ranks(of),
                         0,
                         one_run(all),
                         parent_input,
                         no_scratch,
                         {all.count, {}}};
  };
  SubCollective reduce = inside(group);
  add_cuts(reduce.cuts, reduce);
  if (leader) reduce.output = composer.scratch({all}, reduce.cuts);
  composer.embed(reduce);

  SubCollective exchange{inter_program(hierarchy, params),
                         groups.leaders(),
                         0,
                         parts_of_group,
                         reduce.output,
                         no_scratch,
                         {all.count, {}}};
  add_cuts(exchange.cuts, exchange);
  add_cuts(exchange.cuts, inside(0));
  add_cuts(exchange.cuts, inside(groups.count() - 1));
  if (leader) exchange.output = composer.scratch({own}, exchange.cuts);
  composer.embed(exchange);
  composer.embed({intra_program(hierarchy, params, 1), groups.ranks(group), 0, part_of_member,
                  exchange.output, parent_output, exchange.cuts});
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm reduce_scatter_hierarchical{
    .collective = Collective::reduce_scatter,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "segments,group,cluster,intra,inter",
    .summary =
        "reduce in groups, reduce-scatter between leaders, scatter in groups (Kielmann et al. "
        "1999)",
    .cost = "T_reduce(g, n) + T_reduce_scatter(P/g, n) + T_scatter(g, g m), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
