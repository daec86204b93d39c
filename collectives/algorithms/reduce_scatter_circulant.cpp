// Circulant reduce-scatter: the distances are P halved again and again, rounded up; every rank
// sends in each round the upper piece of the parts it still has sums of.
//
//   P = s_0 > s_1 > ... > s_L = 1 with s_{k+1} = ceil(s_k / 2)
//   round k = 1..L:  rank r has sums of parts r, ..., r+s_{k-1}-1, sends those from r+s_k on to
//                    r+s_k and adds those of parts r, ..., r+s_{k-1}-s_k-1 from r-s_k
//
//   cost: ceil(log2 P) alpha + (P-1) m (beta + gamma) at any P, m bytes in each rank's part
//   Wins for short and medium vectors where P is not a power of two: no folding. Sums lie in pieces
//   that all ranks cut at the same distances from their own part, and where the ring of parts
//   wraps. Traeff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv
//   2410.14234, 2024.
#include <algorithm>
#include <set>

#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// Every rank's sums of [0, held) parts, counted from its own, lie in pieces cut at the same
/// places.
struct Cuts {
  std::set<Rank> at;

  /// The cuts of the parts [0, count) that stay, after those from `skip` on were added to them.
  std::set<Rank> overlaid(Rank skip, Rank count) const {
    std::set<Rank> result{0, count};
    for (const Rank cut : at) {
      if (cut < count) result.insert(cut);
      if (cut > skip && cut < skip + count) result.insert(cut - skip);
    }
    return result;
  }
};

/// Calls visit(ahead, first part, parts) for each piece of `cuts` at `rank`, cut where parts wrap.
template <class Visit>
void for_pieces(std::set<Rank> cuts, Rank rank, Rank size, Visit visit) {
  if (size - rank < *cuts.rbegin()) cuts.insert(size - rank);
  for (auto from = cuts.begin(), to = std::next(from); to != cuts.end(); from = to++) {
    visit(*from, static_cast<std::uint32_t>(around(rank + *from, size)),
          static_cast<std::uint32_t>(*to - *from));
  }
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) program.copy(in(0), out(0));
  std::vector<Slice> places(static_cast<std::size_t>(size), in(0));
  const auto place = [&](Rank ahead, std::uint32_t first, std::uint32_t count) {
    const Slice at = places[static_cast<std::size_t>(ahead)];
    return Slice{at.buffer, at.slot, first, count};
  };
  const std::vector<Rank> skips = halvings(size);
  Cuts cuts;
  std::uint32_t slot = 0;
  for (std::size_t k = 1; k < skips.size(); ++k) {
    const Rank skip = skips[k], to = around(rank + skip, size), from = around(rank - skip, size);
    const std::set<Rank> kept = cuts.overlaid(skip, skips[k - 1] - skip);
    std::vector<Slice> outgoing, incoming, held;
    for_pieces(kept, to, size, [&](Rank ahead, std::uint32_t first, std::uint32_t count) {
      outgoing.push_back(place(skip + ahead, first, count));
    });
    for_pieces(kept, rank, size, [&](Rank ahead, std::uint32_t first, std::uint32_t count) {
      incoming.push_back(tmp(slot++, first, count));
      held.push_back(place(ahead, first, count));
      std::fill_n(places.begin() + ahead, count, incoming.back());
    });
    program.send(to, outgoing);
    program.recv(from, incoming);
    for (std::size_t i = 0; i < held.size(); ++i) {
      program.reduce(held[i], incoming[i],
                     skip == 1 ? out(static_cast<std::uint32_t>(rank)) : incoming[i]);
    }
    cuts.at.insert(kept.begin(), kept.end());
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_circulant{
    .collective = Collective::reduce_scatter,
    .name = "circulant",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange over the roughly halved distances, L alpha + (P-1) m (beta + gamma) at any P "
        "(Traeff 2024)",
    .cost = "L alpha + (P-1) m (beta + gamma)"};

}  // namespace commtune
