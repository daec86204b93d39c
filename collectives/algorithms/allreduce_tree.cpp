// Tree allreduce: a k-nomial tree sums the vector at rank 0, the same tree spreads it. The vector
// is `segments` blocks, k is the radix.
//
//   up:    for each segment, a rank receives its children's partial sums, nearest first, adds them
//          and sends the sum to its parent, which clears the lowest digit of the rank, base k
//   down:  for each segment, a rank receives the result from its parent and sends it to its
//          children, farthest first
//
//   cost: 2 ceil(log_k P)(k-1)(alpha + n beta) + ceil(log_k P)(k-1) n gamma in one segment; S
//         segments fill all levels of the tree after the first has passed
//   Wins for short vectors at large P; the radix trades depth against messages of one rank. The sum
//   exists once and is copied: identical bits everywhere, and the order of ranks is kept.
//   Wilkins, Thakur, Gropp et al., Generalized Collective Algorithms for the Exascale Era,
//   IEEE CLUSTER 2023.
#include "collectives/algorithms/reduction_tree.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Tree tree = knomial_tree({shape.rank, shape.size, 0, shape.in_place}, params.radix);
  const std::uint32_t slots = 2 * (params.radix - 1);  // two levels of children, or two segments
  return reduce_and_broadcast(shape, std::span(&tree, 1), params.segments, slots);
}

}  // namespace

extern constinit const Algorithm allreduce_tree{
    .collective = Collective::allreduce,
    .name = "tree",
    .generate = generate,
    .tunables = "segments,radix",
    .summary =
        "pipelined k-nomial reduce to rank 0 and broadcast, 2 ceil(log_k P)(k-1)(alpha + n beta) "
        "(Wilkins et al. 2023)",
    .cost = "2 ceil(log_k P)(k-1)(alpha + n beta) + ceil(log_k P)(k-1) n gamma",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
