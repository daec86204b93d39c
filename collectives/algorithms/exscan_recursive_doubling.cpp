// Recursive doubling exclusive scan: after k steps every rank holds the sum of the 2^k ranks that
// end with it, and the sum of those without its own vector.
//
//   step k:  rank r sends its sum to r + 2^k and puts that of r - 2^k before both of its own
//
//   cost: ceil(log2 P)(alpha + n beta + 2n gamma), less n gamma in the first step and in the last
//   Wins for the shortest vectors: as few steps as an inclusive scan.
//   Hillis & Steele, Commun. ACM 29(12), 1986.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank, size = shape.size;
  ScheduleBuilder program(Collective::exscan, shape, 1);
  const Slice before = tmp(3, 0);  // the sum without the rank's own
  Slice sum = in(0);
  std::uint32_t slot = 0;
  for (Rank distance = 1; distance < size; distance *= 2, slot = (slot + 1) % 3) {
    if (rank + distance < size) program.send(rank + distance, sum);
    if (rank < distance) continue;
    const bool complete = rank < 2 * distance;
    const bool sent_on = rank + 2 * distance < size;
    const Slice arrived = distance == 1 ? before : tmp(slot, 0);
    program.recv(rank - distance, arrived);
    if (distance > 1) program.reduce(arrived, before, complete ? out(0) : before);
    if (sent_on) {
      program.reduce(arrived, sum, tmp(slot, 0));
      sum = tmp(slot, 0);
    }
  }
  if (rank == 1) program.copy(before, out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm exscan_recursive_doubling{
    .collective = Collective::exscan,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "sums of doubling length from lower ranks, log2 P (alpha + n beta + 2n gamma) "
        "(Hillis & Steele 1986)",
    .cost = "L (alpha + n beta + 2n gamma)"};

}  // namespace commtune
