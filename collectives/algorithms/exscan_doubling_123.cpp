// 123-doubling exclusive scan: the sums of the ranks before a rank grow from 1 to 3, then double.
//
//   step 0:          rank r sends its vector to r + 1 and receives W, that of r - 1
//   step 1:          rank r sends W with its vector behind to r + 2 and puts what arrives before W:
//                    3 ranks
//   step k = 2, ...: rank r sends W to r + d, d = 3 * 2^(k-2), and puts what arrives before W
//
//   cost: q (alpha + n beta + n gamma), q = ceil(log2(P-1) + log2(4/3)) steps
//   Wins for short vectors over recursive doubling: one reduction per step, and as many steps for
//   most P.
//   Traff, arXiv:2507.04785, 2025.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank, size = shape.size;
  ScheduleBuilder program(Collective::exscan, shape, 1);
  Slice before = in(0);  // sum of the ranks before this one; of no rank yet
  std::uint32_t slot = 0;
  if (rank + 1 < size) program.send(rank + 1, in(0));
  if (rank > 0) {
    before = tmp(slot++, 0);
    program.recv(rank - 1, before);
  }
  const auto step = [&](Rank distance, Slice sent, Rank lowest) {
    if (rank >= lowest && rank + distance < size) program.send(rank + distance, sent);
    if (rank - distance < lowest) return;
    const Slice arrived = tmp(slot, 0);
    program.recv(rank - distance, arrived);
    program.reduce(arrived, before, arrived);
    before = arrived;
    slot = (slot + 1) % 3;
  };
  if (size > 2) {
    Slice sent = in(0);
    if (rank > 0 && rank + 2 < size) {
      sent = tmp(3, 0);
      program.reduce(before, in(0), sent);
    }
    step(2, sent, 0);
  }
  for (Rank distance = 3; distance < size - 1; distance *= 2) step(distance, before, 1);
  if (rank > 0) program.copy(before, out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm exscan_doubling_123{
    .collective = Collective::exscan,
    .name = "doubling_123",
    .generate = generate,
    .tunables = "",
    .summary =
        "sums of 1, 3, 6, 12, ... ranks, log2(4/3 (P-1)) (alpha + n beta + n gamma) (Traff 2025)",
    .cost = "log2(4/3 (P-1)) (alpha + n beta + n gamma)"};

}  // namespace commtune
