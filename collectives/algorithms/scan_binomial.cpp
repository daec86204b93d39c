// Binomial tree scan: sums of aligned groups on the way up a tree, prefix sums on the way down.
//
//   up, step k:    the last rank of every group of 2^k sends the group's sum to the last rank of
//                  the group of 2^(k+1), if that is another one, which puts it before its own
//   down, step k:  the last rank r of every group of 2^(k+1), widest first, sends its prefix sum to
//                  r + 2^k, which puts it before the sum of its group
//
//   cost: (2 ceil(log2 P) - 1)(alpha + n beta + n gamma)
//   Wins where work counts: fewer than 2P messages and reductions over all ranks, where recursive
//   doubling has P log2 P.
//   Sanders & Traff, Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, place = shape.rank + 1;  // place: multiple of its group's width
  ScheduleBuilder program(Collective::scan, shape, 1);
  Slice sum = in(0);
  std::uint32_t slot = 0;
  const auto add_before = [&](Rank from) {
    program.recv(from, tmp(slot, 0));
    program.reduce(tmp(slot, 0), sum, out(0));
    sum = out(0);
    slot = 1 - slot;
  };
  Rank width = 1;
  for (; width < size; width *= 2) {
    if (place % (2 * width) == 0) {
      add_before(shape.rank - width);
    } else if (place % width == 0 && shape.rank + width < size) {
      program.send(shape.rank + width, sum);
    }
  }
  for (; width >= 1; width /= 2) {
    if (place % (2 * width) == 0) {
      if (shape.rank + width < size) program.send(shape.rank + width, sum);
    } else if (place % width == 0 && place > width) {
      add_before(shape.rank - width);
    }
  }
  if (shape.rank == 0) program.copy(in(0), out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm scan_binomial{
    .collective = Collective::scan,
    .name = "binomial",
    .generate = generate,
    .tunables = "",
    .summary =
        "up and down a binomial tree, (2 log2 P - 1)(alpha + n beta + n gamma) "
        "(Sanders & Traff 2006)",
    .cost = "(2L - 1)(alpha + n beta + n gamma)"};

}  // namespace commtune
