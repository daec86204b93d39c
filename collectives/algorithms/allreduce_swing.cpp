// Swing allreduce: a reduce-scatter and an allgather whose partners swing from one side to the
// other. Q = 2^floor(log2 P) nodes; the vector is Q blocks, block v is summed at node v.
//
//   fold:              the even rank of each extra pair sends its vector to the odd one
//   scatter step s:    even nodes meet the node rho(s) ahead, odd ones the node rho(s) behind, with
//                      rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, ...; each sends the blocks of
//                      all nodes that its partner reaches in later steps and adds those it gets
//   allgather step s:  the same pairs, last to first, exchange the same blocks, finished
//   unfold:            the odd rank of each pair returns the result
//
//   cost: 2 log2 P alpha + 2(P-1)/P n beta + (P-1)/P n gamma for P = 2^i
//   Wins for middle-sized vectors on rings and tori, where it takes fewer hops than doubling
//   distances. Blocks of a message do not lie side by side and must be packed; `bine` avoids that.
//   Every block is summed at one node and then copied: identical bits everywhere. The order of
//   ranks is not kept.
//   De Sensi, Bonato, Saam & Hoefler, USENIX NSDI 2024.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/parts.hpp"
#include "collectives/algorithms/swing.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

void scatter_and_gather(ScheduleBuilder& program, const Fold& fold, Rank node, BufferId partial) {
  const Swing swing(fold.cube);
  const Fold cube(fold.cube);  // one block per node
  const auto blocks = [&](BufferId buffer, Rank of, std::size_t step) {
    return node_runs(buffer, cube, swing.reached(of, step + 1));
  };
  std::uint16_t slot = 1;
  for (std::size_t step = 0; step < swing.steps(); ++step) {
    const Rank other = swing.peer(node, step), peer = fold.rank(other);
    std::vector<Slice> landing = blocks(BufferId::scratch, node, step);
    for (Slice& run : landing) run.slot = slot++;
    program.send(peer, blocks(partial, other, step));
    program.recv(peer, landing);
    for (const Slice arrived : landing) {
      program.reduce({partial, 0, arrived.first, arrived.count}, arrived,
                     out(arrived.first, arrived.count));
    }
    partial = BufferId::output;
  }
  for (std::size_t step = swing.steps(); step-- > 0;) {
    const Rank other = swing.peer(node, step), peer = fold.rank(other);
    program.send(peer, blocks(BufferId::output, node, step));
    program.recv(peer, blocks(BufferId::output, other, step));
  }
}

Schedule generate(const Shape& shape, const Params&) {
  const Fold fold(shape.size);
  return folded_allreduce(shape, fold, static_cast<std::uint32_t>(fold.cube),
                          [&](ScheduleBuilder& program, Rank node, BufferId partial) {
                            scatter_and_gather(program, fold, node, partial);
                          });
}

}  // namespace

extern constinit const Algorithm allreduce_swing{
    .collective = Collective::allreduce,
    .name = "swing",
    .generate = generate,
    .tunables = "",
    .summary =
        "reduce-scatter and allgather with partners on alternating sides, "
        "2 log2 P alpha + 2(P-1)/P n beta (De Sensi et al. 2024)",
    .cost = "2L alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
