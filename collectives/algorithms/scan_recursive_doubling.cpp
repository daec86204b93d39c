// Recursive doubling scan: after k steps every rank holds the sum of the 2^k ranks that end with
// it.
//
//   step k:  rank r sends its sum to r + 2^k and puts that of r - 2^k before its own
//
//   cost: ceil(log2 P)(alpha + n beta + n gamma)
//   Wins for short vectors. One reduction per step, where exchanges over a hypercube need two.
//   Hillis & Steele, Commun. ACM 29(12), 1986.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  ScheduleBuilder program(Collective::scan, shape, 1);
  Slice sum = in(0);
  std::uint32_t slot = 0;
  for (Rank distance = 1; distance < shape.size; distance *= 2, slot = (slot + 1) % 3) {
    if (rank + distance < shape.size) program.send(rank + distance, sum);
    if (rank < distance) continue;
    // A sum stays in scratch, where it can be sent while the next is made, until it is complete.
    const Slice arrived = tmp(slot, 0);
    const Slice result = rank < 2 * distance ? out(0) : arrived;
    program.recv(rank - distance, arrived);
    program.reduce(arrived, sum, result);
    sum = result;
  }
  if (rank == 0) program.copy(in(0), out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm scan_recursive_doubling{
    .collective = Collective::scan,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "sums of doubling length from lower ranks, log2 P (alpha + n beta + n gamma) "
        "(Hillis & Steele 1986)",
    .cost = "L (alpha + n beta + n gamma)"};

}  // namespace commtune
