// Hierarchical barrier: one leader per group takes part between the groups.
//
//   1: inside every group, the members signal its first rank, the leader
//   2: between the leaders, barrier; with `cluster`, this algorithm again on groups of leaders
//   3: inside every group, the leader signals the members
//   The algorithm of 2 is free: inter. Where intra names a barrier, it does 1 and 3.
//
//   cost: (g-1) alpha + T_barrier(P/g) + (g-1) alpha, g ranks in a group
//   Wins where signals inside a group are much cheaper than between groups.
//   Mellor-Crummey & Scott, ACM Trans. Comput. Syst. 9(1), 1991.
#include "collectives/schedule/hierarchy.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape&, const Params&);
std::string refuse_shape(const Shape&, const Params&);

constexpr Phase intra[] = {{Collective::barrier, "dissemination"}};
constexpr Hierarchy hierarchy{
    intra, {Collective::barrier, "dissemination"}, generate, refuse_shape};

Schedule generate(const Shape& shape, const Params& params) {
  const Groups groups(shape.size, params);
  ScheduleBuilder program(Collective::barrier, shape, 0);
  Composer composer(program, shape);
  const Rank group = groups.of(shape.rank), leader = groups.first(group);
  const auto members = groups.ranks(group);
  const auto inside = [&](bool arrive) {
    if (!params.intra.empty()) {
      composer.embed({intra_program(hierarchy, params, 0), members});
    } else if (shape.rank != leader) {
      arrive ? program.signal(leader) : program.wait_signal(leader);
    } else {
      for (Rank member = leader + 1; member <= members.back(); ++member) {
        arrive ? program.wait_signal(member) : program.signal(member);
      }
    }
    program.fence();
  };
  inside(true);
  composer.embed({inter_program(hierarchy, params), groups.leaders()});
  program.fence();
  inside(false);
  return std::move(program).finish();
}

std::string refuse_shape(const Shape& shape, const Params& params) {
  return refuse(hierarchy, shape, params);
}

}  // namespace

extern constinit const Algorithm barrier_hierarchical{
    .collective = Collective::barrier,
    .name = "hierarchical",
    .generate = generate,
    .tunables = "group,cluster,intra,inter",
    .summary =
        "signals to leaders, barrier between them, signals back (Mellor-Crummey & Scott 1991)",
    .cost = "2(g-1) alpha + T_barrier(P/g), g ranks in a group",
    .needs = "more than one group",
    .refuse = refuse_shape};

}  // namespace commtune
