// Tree barrier: signals run up a k-nomial tree to rank 0, then down again.
//
//   up:    a rank waits for its children, then signals its parent
//   down:  a rank waits for its parent, then signals its children
//
//   cost: 2(k-1) ceil(log_k P) alpha, k = `radix`
//   Wins where the network is loaded: 2(P-1) messages in all, where others have P log2 P.
//   Mellor-Crummey & Scott, ACM Trans. Comput. Syst. 9(1), 1991.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Tree tree = knomial_tree({.rank = shape.rank, .size = shape.size}, params.radix);
  ScheduleBuilder program(Collective::barrier, shape, 0);
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    program.wait_signal(*child);
  }
  program.fence();
  if (tree.parent >= 0) {
    program.signal(tree.parent);
    program.fence();
    program.wait_signal(tree.parent);
    program.fence();
  }
  signal_all(program, tree.children);
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_tree{
    .collective = Collective::barrier,
    .name = "tree",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "signals up and down a tree of radix k, 2(k-1) log_k P alpha (Mellor-Crummey & Scott 1991)",
    .cost = "2(k-1) log_k P alpha",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
