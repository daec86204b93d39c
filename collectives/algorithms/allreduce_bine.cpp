// Bine allreduce: a reduce-scatter and an allgather on the butterfly of binomial negabinary trees,
// the partners of `swing`, with blocks numbered anew. Q = 2^floor(log2 P) nodes; Q blocks.
//
//   fold:              the even rank of each extra pair sends its vector to the odd one
//   scatter step s:    even nodes meet the node rho(s) ahead, odd ones the node rho(s) behind, with
//                      rho(s) = 1 - 2 + 4 - ... = (1 - (-2)^(s+1)) / 3; both share one range of
//                      blocks, and each adds up its half of it
//   allgather step s:  the same pairs, last to first, exchange their finished ranges
//   unfold:            the odd rank of each pair returns the result
//
//   cost: 2 log2 P alpha + 2(P-1)/P n beta + (P-1)/P n gamma for P = 2^i
//   Wins for long vectors on networks of groups with few links between them: the distance of
//   partners is a third below that of doubling distances, and most data moves at small ones. Which
//   node sums which block is free in an allreduce; chosen by the halves that a node belongs to, the
//   blocks of a message are one run. Identical bits everywhere; the order of ranks is not kept.
//   De Sensi, Pasqualoni, Piarulli et al., Bine Trees, SC 2025.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/swing.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// In step s a node and its partner reach the same nodes, each of them one half in later steps. The
/// half with the lowest node is the lower one.
std::vector<Round> rounds(const Fold& fold, Rank node) {
  const Swing swing(fold.cube);
  std::vector<Round> all;
  for (std::size_t step = 0; step < swing.steps(); ++step) {
    const Rank mine = fold.rank(node), theirs = fold.rank(swing.peer(node, step));
    const bool lower = swing.reached(node, step + 1).front() == swing.reached(node, step).front();
    all.push_back(lower ? Round{{mine, theirs}, 0} : Round{{theirs, mine}, 1});
  }
  return all;
}

Schedule generate(const Shape& shape, const Params&) {
  const Fold fold(shape.size);
  const auto blocks = static_cast<std::uint32_t>(fold.cube);
  return folded_allreduce(shape, fold, blocks,
                          [&](ScheduleBuilder& program, Rank node, BufferId partial) {
                            scatter_and_gather(program, rounds(fold, node), blocks, partial);
                          });
}

}  // namespace

extern constinit const Algorithm allreduce_bine{
    .collective = Collective::allreduce,
    .name = "bine",
    .generate = generate,
    .tunables = "",
    .summary =
        "reduce-scatter and allgather on a negabinary butterfly, contiguous blocks, "
        "2 log2 P alpha + 2(P-1)/P n beta (De Sensi et al. 2025)",
    .cost = "2L alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
