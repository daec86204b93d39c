// Swing allreduce for short vectors: recursive doubling with partners that swing from one side to
// the other, on Q = 2^floor(log2 P) nodes.
//
//   fold:    the even rank of each extra pair sends its vector to the odd one, which adds it
//   step s, from log2 Q - 1 down to 0:  even nodes exchange vectors with the node rho(s) ahead, odd
//            ones with the node rho(s) behind, rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, ...
//   unfold:  the odd rank of each pair returns the result
//
//   cost: log2 P (alpha + n beta + n gamma); plus 2 alpha + 2 n beta + n gamma if P isn't 2^i
//   Wins for short vectors on rings and tori. The order of steps matters: from far to near, all
//   nodes that steps s to log2 Q - 1 connect hold the same sum, so bits are identical everywhere;
//   from near to far every node would add in an order of its own. This is also the butterfly of
//   Bine trees. The order of ranks is not kept.
//   De Sensi, Bonato, Saam & Hoefler, USENIX NSDI 2024.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/swing.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Fold fold(shape.size);
  return folded_allreduce(
      shape, fold, 1, [&](ScheduleBuilder& program, Rank node, BufferId partial) {
        const Swing swing(fold.cube);
        std::vector<Round> rounds;
        for (std::size_t step = swing.steps(); step-- > 0;) {
          const Rank peer = fold.rank(swing.peer(node, step));
          rounds.push_back({{std::min(peer, shape.rank), std::max(peer, shape.rank)},
                            peer < shape.rank ? 1U : 0U});
        }
        exchange_vectors(program, rounds, partial);
      });
}

}  // namespace

extern constinit const Algorithm allreduce_swing_latency{
    .collective = Collective::allreduce,
    .name = "swing_latency",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange whole vectors with partners on alternating sides, "
        "log2 P (alpha + n beta + n gamma) (De Sensi et al. 2024)",
    .cost = "L (alpha + n beta + n gamma)"};

}  // namespace commtune
