#pragma once
#include <algorithm>
#include <vector>

#include "collectives/algorithms/parts.hpp"

namespace commtune {

/// Which blocks a node receives in a pipelined broadcast over a circulant graph, q = ceil(log2
/// size) rounds a phase: in round k of phase j, from `skips()[k]` nodes back, block blocks(node)[k]
/// + jq. Of q consecutive rounds every one brings another block, and whatever a node must send by
/// that rule it has. Traff, arXiv:2205.10072, 2022.
class CirculantBlocks {
 public:
  explicit CirculantBlocks(Rank size) : skips_(halvings(size)) {
    std::reverse(skips_.begin(), skips_.end());
  }
  /// 1, ..., size: each the half of the next, rounded up. The last is no distance of a round.
  const std::vector<Rank>& skips() const noexcept { return skips_; }
  Rank rounds() const noexcept { return static_cast<Rank>(skips_.size()) - 1; }

  /// `node` is not 0, the root. One entry is the node's base block, at least 0: the first one that
  /// it gets; the others are from -q to -1.
  std::vector<Rank> blocks(Rank node) const {
    const Rank base = base_block(node);
    Search search{.target = skips_.back() + node, .closest = 2 * skips_.back()};
    search.used.assign(skips_.size(), false);
    search.used[static_cast<std::size_t>(base)] = true;
    descend(search, 0, rounds());
    for (Rank& block : search.found) block = block == rounds() ? base : block - rounds();
    return std::move(search.found);
  }

 private:
  struct Search {
    Rank target, closest;
    std::vector<bool> used = {};
    std::vector<Rank> found = {};
  };
  Rank skip(Rank k) const { return skips_[static_cast<std::size_t>(k)]; }

  /// The last skip on the path from the root to `node` that takes the widest skips first.
  Rank base_block(Rank node) const {
    for (Rank k = rounds(); k-- > 0;) {
      if (skip(k) == node) return k;
      if (skip(k) < node) node -= skip(k);
    }
    return rounds();
  }

  /// Looks for paths of falling skips, from `at` on, to nodes that the target hears from: the k-th
  /// entry is the last skip of a path that ends between skip(k+1) and skip(k) before the target,
  /// nearer to the root than the paths before it.
  void descend(Search& search, Rank at, Rank widest) const {
    const auto next = [&] { return static_cast<Rank>(search.found.size()); };
    for (Rank k = widest; k >= 0 && next() < rounds(); --k) {
      if (search.used[static_cast<std::size_t>(k)]) continue;
      const Rank end = at + skip(k);
      if (end > search.target - skip(next()) || end >= search.closest) continue;
      if (end <= search.target - skip(next() + 1)) descend(search, end, k);
      if (next() == rounds() || at > search.target - skip(next() + 1)) return;
      search.closest = end;
      search.found.push_back(k);
      search.used[static_cast<std::size_t>(k)] = true;
    }
  }

  std::vector<Rank> skips_;
};

/// What one node does in a round of a broadcast from node 0; -1 where it sends or receives nothing.
struct CirculantRound {
  Rank to, from;
  std::int64_t sent, received;  ///< blocks
};

/// The blocks - 1 + ceil(log2 size) rounds of a broadcast of `blocks` blocks. Every other node
/// receives every block once. None for one node.
inline std::vector<CirculantRound> circulant_rounds(Rank node, Rank size, std::uint32_t blocks) {
  const CirculantBlocks schedule(size);
  const std::int64_t phase = schedule.rounds(), last = std::int64_t{blocks} - 1;
  std::vector<CirculantRound> rounds;
  if (phase == 0) return rounds;
  std::vector<std::vector<Rank>> sent;
  for (std::int64_t k = 0; k < phase; ++k) {
    const Rank to = around(node + schedule.skips()[static_cast<std::size_t>(k)], size);
    sent.push_back(to == 0 ? std::vector<Rank>{} : schedule.blocks(to));
  }
  const std::vector<Rank> received = node == 0 ? std::vector<Rank>{} : schedule.blocks(node);
  // The first rounds of the first phase are left out, so that the last phase ends with the last
  // block; what would be a later one is the last one again, for nodes that have not got it.
  const std::int64_t omitted = (phase - last % phase) % phase;
  for (std::int64_t i = omitted; i < last + phase + omitted; ++i) {
    const auto k = static_cast<std::size_t>(i % phase);
    const auto block = [&](const std::vector<Rank>& of) -> std::int64_t {
      if (of.empty()) return -1;
      return std::clamp<std::int64_t>(of[k] - omitted + i / phase * phase, -1, last);
    };
    const Rank skip = schedule.skips()[k];
    rounds.push_back(
        {around(node + skip, size), around(node - skip, size), block(sent[k]), block(received)});
  }
  return rounds;
}

}  // namespace commtune
