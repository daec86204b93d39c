// Ring reduce: a reduce-scatter around a ring, then every rank sends its finished block to the
// root. The vector is P blocks.
//
//   step k:  rank r sends its partial sum of block r-k-1 to r+1, receives that of block r-k-2 from
//            r-1 and adds its own; after P-1 steps that block is r
//   gather:  rank r sends block r to the root
//
//   cost: 2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma
//   Wins for long vectors at any P, where the root would be the bottleneck of trees.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const bool root = rank == shape.root;
  const auto block = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  ScheduleBuilder program(Collective::reduce, shape, block(-1) + 1);
  if (size == 1) program.copy(in(0), out(0));
  Slice partial = in(block(rank - 1));
  for (Rank k = 0; k < size - 1; ++k) {
    const std::uint32_t incoming = block(rank - k - 2);
    const Slice landing = tmp(static_cast<std::uint32_t>(k % 2), incoming);
    program.send(around(rank + 1, size), partial);
    program.recv(around(rank - 1, size), landing);
    program.reduce(in(incoming), landing, root && k == size - 2 ? out(incoming) : landing);
    partial = landing;
  }
  if (!root) program.send(shape.root, partial);
  for (Rank k = 1; root && k < size; ++k) {
    const Rank peer = around(rank + k, size);
    program.recv(peer, out(block(peer)));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_ring_gather{
    .collective = Collective::reduce,
    .name = "ring_gather",
    .generate = generate,
    .tunables = "",
    .summary =
        "ring reduce-scatter and linear gather, 2(P-1) alpha + 2(P-1)/P n beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
