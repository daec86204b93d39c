#pragma once
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "collectives/algorithms/topology.hpp"

namespace commtune {

/// Ranks that exchange with each other; members[mine] is this rank. All of them list the same ranks
/// in the same order, which is the order of their operands.
struct Round {
  std::vector<Rank> members;
  std::uint32_t mine;
};

/// Factors of the largest j * radix^i that is at most `size`, 1 <= j < radix: i times radix, then
/// j. `radix` is at least 2.
inline std::vector<Rank> largest_factors(Rank size, std::uint32_t radix) {
  std::vector<Rank> factors;
  for (; static_cast<std::uint32_t>(size) >= radix; size /= static_cast<Rank>(radix)) {
    factors.push_back(static_cast<Rank>(radix));
  }
  if (size > 1) factors.push_back(size);
  return factors;
}

inline Rank product(const std::vector<Rank>& factors) {
  return std::accumulate(factors.begin(), factors.end(), Rank{1}, std::multiplies<>());
}

/// Node numbers as digits, the first factor's the lowest: round i joins the nodes that differ in
/// digit i alone. Before round i a node stands for consecutive nodes, so order is kept.
inline std::vector<Round> hypercube_rounds(const Fold& fold, Rank node,
                                           const std::vector<Rank>& factors) {
  std::vector<Round> rounds;
  Rank stride = 1;
  for (const Rank factor : factors) {
    const Rank digit = node / stride % factor;
    Round round{{}, static_cast<std::uint32_t>(digit)};
    for (Rank other = 0; other < factor; ++other) {
      round.members.push_back(fold.rank(node + (other - digit) * stride));
    }
    rounds.push_back(std::move(round));
    stride *= factor;
  }
  return rounds;
}

/// Sums the operands in the order given. `operand(i)` names the i-th one, and may receive it first;
/// all but one are scratch, which partial sums overwrite.
template <class Operand>
void reduce_in_order(ScheduleBuilder& program, std::uint32_t operands, Operand operand,
                     Slice result) {
  Slice sum = operand(0U);
  for (std::uint32_t i = 1; i < operands; ++i) {
    const Slice term = operand(i);
    const Slice partial = sum.buffer == BufferId::scratch ? sum : term;
    const Slice into = i + 1 == operands ? result : partial;
    program.reduce(sum, term, into);
    sum = into;
  }
}

/// Receives `own`'s blocks from every other rank and sums them and `own`, in the order of ranks;
/// each message is added before the next one is received. Uses P-1 scratch slots, from `slot` on.
inline void receive_in_order(ScheduleBuilder& program, const Shape& shape, Slice own,
                             std::uint32_t slot, Slice result) {
  const auto contribution = [&](std::uint32_t from) {
    const auto peer = static_cast<Rank>(from);
    if (peer == shape.rank) return own;
    const Slice arrived = tmp(slot++, own.first, own.count);
    program.recv(peer, arrived);
    return arrived;
  };
  reduce_in_order(program, static_cast<std::uint32_t>(shape.size), contribution, result);
}

/// One round: sends `piece(i)` of this rank's partial result to member i and sums everybody's
/// `piece(mine)` into the output. Uses one scratch slot per other member, from `slot` on.
template <class Piece>
void exchange(ScheduleBuilder& program, const Round& round, std::uint32_t slot, Piece piece) {
  const auto members = static_cast<std::uint32_t>(round.members.size());
  const Slice kept = piece(round.mine);
  const auto operand = [&](std::uint32_t i) {
    if (i == round.mine) return kept;
    return tmp(slot + (i < round.mine ? i : i - 1), kept.first, kept.count);
  };
  for (std::uint32_t k = 1; k < members; ++k) {
    const std::uint32_t to = (round.mine + k) % members;
    const std::uint32_t from = (round.mine + members - k) % members;
    program.send(round.members[to], piece(to));
    program.recv(round.members[from], operand(from));
  }
  reduce_in_order(program, members, operand, out(kept.first, kept.count));
}

/// Every round exchanges and sums whole vectors, of one block. `partial` holds this rank's.
inline void exchange_vectors(ScheduleBuilder& program, const std::vector<Round>& rounds,
                             BufferId partial) {
  // Two sets of slots, so that the next round's recv can be posted during the reduce.
  std::uint32_t widest = 0;
  for (const Round& round : rounds) {
    widest = std::max(widest, static_cast<std::uint32_t>(round.members.size()));
  }
  for (std::uint32_t i = 0; i < rounds.size(); ++i) {
    exchange(program, rounds[i], 1 + i % 2 * widest, [&](std::uint32_t) {
      return Slice{partial, 0, 0, 1};
    });
    partial = BufferId::output;
  }
}

/// A reduce-scatter and an allgather on `blocks` blocks, the product of the numbers of members. A
/// round cuts the range that its members share in pieces, one for each of them.
inline void scatter_and_gather(ScheduleBuilder& program, const std::vector<Round>& rounds,
                               std::uint32_t blocks, BufferId partial) {
  std::uint32_t first = 0, count = blocks, slot = 1;
  for (const Round& round : rounds) {
    const auto members = static_cast<std::uint32_t>(round.members.size());
    count /= members;
    exchange(program, round, slot, [&](std::uint32_t i) {
      return Slice{partial, 0, first + i * count, count};
    });
    first += round.mine * count;
    slot += members - 1;
    partial = BufferId::output;
  }
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    const auto members = static_cast<std::uint32_t>(round->members.size());
    const Slice mine = out(first, count);
    first -= round->mine * count;
    for (std::uint32_t k = 1; k < members; ++k) {
      const std::uint32_t from = (round->mine + members - k) % members;
      program.send(round->members[(round->mine + k) % members], mine);
      program.recv(round->members[from], out(first + from * count, count));
    }
    count *= members;
  }
}

/// An allreduce of `blocks` blocks among the nodes of `fold`. `core(program, node, partial)` takes
/// the nodes' vectors from `partial` and leaves the result in the output; scratch slot 0 is taken.
template <class Core>
Schedule folded_allreduce(const Shape& shape, const Fold& fold, std::uint32_t blocks, Core core) {
  const Rank rank = shape.rank;
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  if (shape.size == 1) {
    program.copy(in(0, blocks), out(0, blocks));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0, blocks));
    program.recv(rank + 1, out(0, blocks));
    return std::move(program).finish();
  }
  BufferId partial = BufferId::input;
  if (fold.paired(rank)) {
    program.recv(rank - 1, tmp(0, 0, blocks));
    program.reduce(tmp(0, 0, blocks), in(0, blocks), out(0, blocks));
    partial = BufferId::output;
  }
  core(program, fold.node(rank), partial);
  if (fold.paired(rank)) program.send(rank - 1, out(0, blocks));
  return std::move(program).finish();
}

}  // namespace commtune
