// Bruck's alltoall with radix k: a block that has to go d ranks further takes one hop for each
// digit of d that is not 0, and all blocks with the same digit travel together.
//
//   round (w, v), digits w = 0, 1, ..., values v = 1..k-1: rank r sends all blocks whose digit w is
//            v to r+v*k^w and receives as many from r-v*k^w
//
//   The first hop starts in the input and the last one ends in the output, at their own places;
//   between hops a block waits in scratch. In place, a block whose place still holds one that has
//   not left is copied there at the end.
//
//   cost: ceil(log_k P) alpha + ceil(log_k P) (k-1)/k P m beta where the k-1 messages of a digit
//         overlap, else k-1 times as many alpha; m bytes in each block
//   Wins for short blocks; a higher radix moves blocks fewer times in more messages.
//   Bruck, Ho, Kipnis, Upfal & Weathersby, IEEE Trans. Parallel Distrib. Syst. 8(11), 1997.
#include <algorithm>
#include <string>
#include <vector>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

constexpr Rank most_ranks = 32767;  // two scratch slots a block

std::string refuse(const Shape& shape, const Params&) {
  if (shape.size <= most_ranks) return {};
  return std::to_string(shape.size) + " ranks are more than " + std::to_string(most_ranks);
}

/// The hops of blocks; a round is a digit's place and value.
class Hops {
 public:
  Hops(Rank radix, Rank size) : radix_(radix), size_(size) {}
  /// Of the first and the last hop of a block that goes `ahead` ranks.
  Rank first_round(Rank ahead) const {
    Rank rounds = 0;
    for (; ahead % radix_ == 0; ahead /= radix_) rounds += radix_ - 1;
    return rounds + ahead % radix_ - 1;
  }
  Rank last_round(Rank ahead) const {
    Rank rounds = 0;
    for (; ahead >= radix_; ahead /= radix_) rounds += radix_ - 1;
    return rounds + ahead - 1;
  }
  /// Whether the place in the output of the block from `ahead` ranks behind is free in place when
  /// that block arrives: the one that goes the rest of the ring has left by then.
  bool lands(Rank ahead) const { return first_round(size_ - ahead) < last_round(ahead); }

 private:
  Rank radix_, size_;
};

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const Rank radix = static_cast<Rank>(
      std::clamp(params.radix, 2U, std::max(2U, static_cast<std::uint32_t>(size))));
  const Hops hops(radix, size);
  const auto block = [&](Rank from, Rank ahead) {
    return static_cast<std::uint32_t>(around(from, size)) * static_cast<std::uint32_t>(size) +
           static_cast<std::uint32_t>(around(from + ahead, size));
  };
  // Each block alternates between two slots: it may arrive while the one before it leaves.
  std::vector<std::uint8_t> side(static_cast<std::size_t>(size), 0);
  const auto slot = [&](Rank ahead) {
    return static_cast<std::uint32_t>(2 * ahead + side[static_cast<std::size_t>(ahead)]);
  };
  ScheduleBuilder program(Collective::alltoall, shape, 1);
  program.copy(in(block(rank, 0)), out(block(rank, 0)));
  std::vector<Slice> outgoing, incoming;
  for (Rank unit = 1; unit < size; unit *= radix) {
    for (Rank distance = unit; distance < size && distance < radix * unit; distance += unit) {
      outgoing.clear();
      incoming.clear();
      const auto hop = [&](Rank ahead) {
        const Rank gone = ahead % unit;  // ranks that the block has come so far
        outgoing.push_back(gone == 0 ? in(block(rank, ahead))
                                     : tmp(slot(ahead), block(rank - gone, ahead)));
        const std::uint32_t arriving = block(rank - gone - distance, ahead);
        const bool last = ahead < radix * unit;
        side[static_cast<std::size_t>(ahead)] ^= 1;
        incoming.push_back(last && (!shape.in_place || hops.lands(ahead))
                               ? out(arriving)
                               : tmp(slot(ahead), arriving));
      };
      for (Rank base = distance; base < size; base += radix * unit) {
        for (Rank ahead = base; ahead < std::min(base + unit, size); ++ahead) hop(ahead);
      }
      program.send(around(rank + distance, size), outgoing);
      program.recv(around(rank - distance, size), incoming);
    }
  }
  for (Rank ahead = 1; shape.in_place && ahead < size; ++ahead) {
    const std::uint32_t arrived = block(rank - ahead, ahead);
    if (!hops.lands(ahead)) program.copy(tmp(slot(ahead), arrived), out(arrived));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm alltoall_bruck{
    .collective = Collective::alltoall,
    .name = "bruck",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "blocks travel along the digits of their distance, many in a message, "
        "log_k P alpha + log_k P (k-1)/k P m beta (Bruck et al. 1997)",
    .cost = "ceil(log_k P) (alpha + (k-1)/k P m beta)",
    .needs = "at most 32767 ranks",
    .refuse = refuse};

}  // namespace commtune
