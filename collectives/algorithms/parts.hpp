#pragma once
#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Parts [first, first + count) counted around the ring of `size` parts: no run where count is 0,
/// two where the last part is passed.
inline std::vector<Slice> ring_runs(BufferId buffer, Rank first, Rank count, Rank size) {
  const Rank begin = around(first, size), head = std::min(count, size - begin);
  std::vector<Slice> runs;
  const auto add = [&](Rank from, Rank n) {
    if (n > 0) {
      runs.push_back({buffer, 0, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(n)});
    }
  };
  add(begin, head);
  add(0, count - head);
  return runs;
}

/// All parts but [first, first + count), which do not wrap, in ascending order.
inline std::vector<Slice> ring_runs_outside(BufferId buffer, Rank first, Rank count, Rank size) {
  std::vector<Slice> runs = ring_runs(buffer, 0, first, size);
  const std::vector<Slice> behind = ring_runs(buffer, first + count, size - first - count, size);
  runs.insert(runs.end(), behind.begin(), behind.end());
  return runs;
}

/// The distances of circulant algorithms: `size` and its halves, rounded up, down to 1.
inline std::vector<Rank> halvings(Rank size) {
  std::vector<Rank> skips{size};
  while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  return skips;
}

/// The first of the parts that a node of the hypercube stands for; of `fold.cube`: their number.
constexpr std::uint32_t first_part(const Fold& fold, Rank node) {
  return static_cast<std::uint32_t>(node < fold.extra ? 2 * node : node + fold.extra);
}

/// The parts of `nodes` (ascending) in one buffer, adjacent ones in one run.
inline std::vector<Slice> node_runs(BufferId buffer, const Fold& fold,
                                    const std::vector<Rank>& nodes) {
  std::vector<Slice> runs;
  for (const Rank node : nodes) {
    const std::uint32_t first = first_part(fold, node), count = first_part(fold, node + 1) - first;
    if (!runs.empty() && runs.back().first + runs.back().count == first) {
      runs.back().count += count;
    } else {
      runs.push_back({buffer, 0, first, count});
    }
  }
  return runs;
}

/// One message of every rank while all parts move along binomial trees at once. Node d of the tree
/// of a part is the rank d beyond its owner, and the parent of d is d without its lowest bit.
/// The message carries the parts of nodes first, first + stride, ... (`count` of them) from each
/// to the node `distance` beyond.
struct TreeMessage {
  Rank distance, first, stride, count;
};
enum class TreeOrder : std::uint8_t { breadth_first, depth_first };

/// The messages from the owners outwards, at most `aggregate` parts (rounded up to a power of two)
/// in each, in an order in which every node has the part before it passes it on. Down to the
/// distance at which messages would grow beyond `aggregate`, their sizes double; the subtrees that
/// remain are walked edge by edge, all of them together, in `order`.
inline std::vector<TreeMessage> tree_messages(Rank size, std::uint32_t aggregate, TreeOrder order) {
  const auto span = static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(size)));
  const Rank trees =
      static_cast<Rank>(std::bit_ceil(std::clamp(aggregate, 1U, static_cast<std::uint32_t>(span))));
  const Rank subtree = span / trees;
  std::vector<TreeMessage> messages;
  const auto add = [&](Rank distance, Rank first, Rank stride) {
    if (first + distance >= size) return;
    messages.push_back({distance, first, stride, (size - first - distance + stride - 1) / stride});
  };
  for (Rank distance = span / 2; distance >= subtree; distance /= 2) add(distance, 0, 2 * distance);
  if (order == TreeOrder::depth_first) {
    for (Rank node = 1; node < subtree; ++node) add(node & -node, node - (node & -node), subtree);
    return messages;
  }
  for (Rank distance = subtree / 2; distance > 0; distance /= 2) {
    for (Rank parent = 0; parent < subtree; parent += 2 * distance) add(distance, parent, subtree);
  }
  return messages;
}

/// The parts that `rank` sends in `message`.
inline std::vector<Slice> tree_parts(const TreeMessage& message, Rank rank, Rank size) {
  std::vector<Slice> parts;
  for (Rank i = 0; i < message.count; ++i) {
    const Rank node = message.first + i * message.stride;
    parts.push_back(out(static_cast<std::uint32_t>(around(rank - node, size))));
  }
  return parts;
}

}  // namespace commtune
