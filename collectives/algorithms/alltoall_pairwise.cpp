// Pairwise alltoall: one exchange at a time, so that every rank sends to one and receives from one.
//
//   step k:  P = 2^i:   rank r exchanges blocks with r xor k
//            otherwise: rank r sends its block for r+k and receives the block from r-k
//            in place:  rank r exchanges blocks with the partner of round k of a round-robin
//                       tournament. Sending it straight from its place would wait for the other
//                       side, which waits likewise: the outgoing block is set aside in scratch.
//
//   cost: (P-1)(alpha + m beta), m bytes in each block; one more alpha in place at odd P
//   Wins for long blocks: no port is ever shared by two messages. Two blocks of scratch are enough
//   in place.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include <bit>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The rank that `rank` meets in `round` (0, 1, ..., P-1; P-2 at even P) of a tournament; itself
/// where it has nobody to meet.
Rank opponent(Rank rank, Rank round, Rank size) {
  if (size % 2 == 1) return around(round - rank, size);
  const Rank ring = size - 1;  // the last rank meets those who would meet themselves
  if (rank == ring) return around(round * (size / 2), ring);
  const Rank other = around(round - rank, ring);
  return other == rank ? ring : other;
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto block = [&](Rank from, Rank to) {
    return static_cast<std::uint32_t>(from) * static_cast<std::uint32_t>(size) +
           static_cast<std::uint32_t>(to);
  };
  ScheduleBuilder program(Collective::alltoall, shape, 1);
  program.copy(in(block(rank, rank)), out(block(rank, rank)));
  program.limit_in_flight(1);
  std::uint32_t slot = 0;
  const auto exchange = [&](Rank to, Rank from) {
    Slice outgoing = in(block(rank, to));
    if (shape.in_place) {
      program.copy(outgoing, tmp(slot, outgoing.first));
      outgoing = tmp(slot, outgoing.first);
      slot = 1 - slot;
    }
    program.send(to, outgoing);
    program.recv(from, out(block(from, rank)));
  };
  const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(size));
  for (Rank k = 0; k < size; ++k) {
    if (shape.in_place && !power_of_two) {
      if (size % 2 == 0 && k == size - 1) break;
      const Rank peer = opponent(rank, k, size);
      if (peer != rank) exchange(peer, peer);
    } else if (k > 0) {
      exchange(power_of_two ? rank ^ k : around(rank + k, size),
               power_of_two ? rank ^ k : around(rank - k, size));
    }
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm alltoall_pairwise{
    .collective = Collective::alltoall,
    .name = "pairwise",
    .generate = generate,
    .tunables = "",
    .summary =
        "one exchange at a time, (P-1)(alpha + m beta) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
