// Parallel aggregated trees (PAT): every part is summed along a binomial tree that ends at its
// owner, all trees at once, and a message carries parts of at most `radix` trees (rounded up to a
// power of two, A).
//
//   linear phase:      P/A-1 messages of A parts each walk the outer subtrees depth first, so that
//                      at most A log2(P/A) sums are held
//   logarithmic phase: distances double up to 2^(L-1) while messages halve to one part
//
//   cost: (log2 A + P/A) alpha + (P-1) m (beta + gamma), m bytes in each rank's part
//   Wins between the ring and logarithmic algorithms, at any P; scratch is bounded.
//   Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
//   2506.20252, 2025.
#include <algorithm>

#include "collectives/algorithms/partial_sums.hpp"
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) program.copy(in(0), out(0));
  PartialSums sums(program, shape);
  const auto parts = [&](const TreeMessage& message, Rank parent) {
    std::vector<std::uint32_t> numbers;
    for (const Slice part : tree_parts(message, parent, size)) numbers.push_back(part.first);
    return numbers;
  };
  auto messages = tree_messages(size, params.radix, TreeOrder::depth_first);
  std::reverse(messages.begin(), messages.end());
  for (const TreeMessage& message : messages) {
    const Rank parent = around(rank - message.distance, size);
    const Rank child = around(rank + message.distance, size);
    sums.exchange(parent, parts(message, parent), child, parts(message, rank));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_pat{
    .collective = Collective::reduce_scatter,
    .name = "pat",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "binomial trees of all parts at once, at most radix parts in a message, "
        "(log2 k + P/k) alpha + (P-1) m (beta + gamma) (Jeaugey 2025)",
    .cost = "(log2 k + P/k) alpha + (P-1) m (beta + gamma)"};

}  // namespace commtune
