// Binomial tree broadcast: the number of ranks that hold the vector doubles in every step.
//
//   Ranks are numbered v = r - root. Rank v receives from v - 2^j, where 2^j is its lowest set bit,
//   then sends to v + 2^(j-1), ..., v + 2, v + 1, the largest subtree first. With s segments it
//   does so for one segment after the other, and a rank forwards one while it receives the next.
//
//   cost: ceil(log2 P)(alpha + n beta); about (log2 P + s - 1) steps of n/s with s segments where
//   a rank has one child
//   Wins for short vectors.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size;
  const Rank node = around(shape.rank - shape.root, size);
  const auto rank = [&](Rank of) { return around(of + shape.root, size); };
  ScheduleBuilder program(Collective::broadcast, shape, params.segments);
  Rank span = 1;
  while (span < size && (node & span) == 0) span *= 2;
  for (std::uint32_t s = 0; s < params.segments; ++s) {
    if (node != 0) program.recv(rank(node - span), out(s));
    for (Rank child = span / 2; child > 0; child /= 2) {
      if (node + child < size) program.send(rank(node + child), node == 0 ? in(s) : out(s));
    }
  }
  if (node == 0) program.copy(in(0, params.segments), out(0, params.segments));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_binomial{
    .collective = Collective::broadcast,
    .name = "binomial",
    .generate = generate,
    .tunables = "segments",
    .summary = "binomial tree, log2 P (alpha + n beta) (Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L (alpha + n beta)"};

}  // namespace commtune
