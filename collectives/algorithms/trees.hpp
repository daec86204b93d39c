#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "collectives/algorithms/topology.hpp"

namespace commtune {

/// The neighbours of the rank `shape.rank` in a spanning tree of all ranks, rooted at `shape.root`.
/// `children` stand in the order in which a broadcast sends to them, the deepest subtree first; a
/// reduction takes them in reverse. Except for the in-order tree, nodes are numbered from the root:
/// rank r is node r - root, taken around.
struct Tree {
  Rank parent = -1;  ///< -1 at the root
  std::vector<Rank> children;
};

constexpr Rank tree_node(const Shape& shape) { return around(shape.rank - shape.root, shape.size); }
constexpr Rank tree_rank(const Shape& shape, Rank node) {
  return around(node + shape.root, shape.size);
}

/// Refusal of algorithms whose radix must be a base of numbers.
inline constexpr std::string_view needs_radix_of_two = "a radix of at least 2";
inline std::string refuse_radix_below_two(const Shape&, const Params& params) {
  return params.radix >= 2 ? std::string{}
                           : "radix " + std::to_string(params.radix) + " is less than 2";
}

/// The place of one node in a k-nomial tree: its parent clears the lowest digit that is not 0 in
/// base `radix`, of value k^j; it is the root of the nodes [node, node + extent), extent = k^j or
/// what `size` leaves of it. Radix 2: the binomial tree.
struct KnomialNode {
  Rank parent = -1, extent = 1;
  std::vector<Rank> children;  ///< descending: reversed, the subtrees follow each other

  /// `radix` is at least 2.
  KnomialNode(Rank node, Rank size, std::uint32_t radix) {
    const std::int64_t base = radix;
    std::int64_t width = 1;  // of the digits below the lowest one that is not 0
    while (width < size && node / width % base == 0) width *= base;
    if (node != 0) parent = static_cast<Rank>(node - node / width % base * width);
    extent = static_cast<Rank>(std::min<std::int64_t>(width, size - node));
    for (std::int64_t step = 1; step < width; step *= base) {
      for (std::int64_t child = node + step;
           child < std::min<std::int64_t>(node + step * base, size); child += step) {
        children.push_back(static_cast<Rank>(child));
      }
    }
    std::reverse(children.begin(), children.end());
  }
};

/// Numbers of nodes become ranks.
inline Tree relabelled(const Shape& shape, Rank parent, std::vector<Rank> children) {
  for (Rank& child : children) child = tree_rank(shape, child);
  return {parent < 0 ? -1 : tree_rank(shape, parent), std::move(children)};
}

inline Tree knomial_tree(const Shape& shape, std::uint32_t radix) {
  KnomialNode place(tree_node(shape), shape.size, radix);
  return relabelled(shape, place.parent, std::move(place.children));
}

inline Tree binomial_tree(const Shape& shape) { return knomial_tree(shape, 2); }

/// The children of node v are 2v+1 and 2v+2.
inline Tree binary_tree(const Shape& shape) {
  const Rank node = tree_node(shape);
  std::vector<Rank> children;
  for (Rank child = 2 * node + 1; child <= 2 * node + 2 && child < shape.size; ++child) {
    children.push_back(child);
  }
  return relabelled(shape, node == 0 ? -1 : (node - 1) / 2, std::move(children));
}

/// `chains` runs of nodes, as long as each other or one longer, each headed by a child of the root.
inline Tree chain_tree(const Shape& shape, std::uint32_t chains) {
  const Rank node = tree_node(shape), others = shape.size - 1;
  if (others == 0) return {};
  const auto runs = static_cast<Rank>(std::clamp(chains, 1U, static_cast<std::uint32_t>(others)));
  const auto head = [&](Rank run) {
    return 1 + run * (others / runs) + std::min(run, others % runs);
  };
  std::vector<Rank> children;
  if (node == 0) {
    for (Rank run = runs; run-- > 0;) children.push_back(head(run));
    return relabelled(shape, -1, std::move(children));
  }
  Rank run = 0;
  while (run + 1 < runs && head(run + 1) <= node) ++run;
  if (node + 1 < head(run + 1)) children.push_back(node + 1);
  return relabelled(shape, node == head(run) ? 0 : node - 1, std::move(children));
}

/// A binary search tree of the ranks, whichever the root: at most one child is below a rank and at
/// most one above, and so are their subtrees, so sums that are taken from the lower child, itself
/// and the upper child keep the order of ranks.
inline Tree in_order_binary_tree(const Shape& shape) {
  Rank parent = -1, first = 0, end = shape.size, top = shape.root;
  const auto middle = [](Rank from, Rank until) { return from + (until - from) / 2; };
  while (top != shape.rank) {
    parent = top;
    (shape.rank < top ? end : first) = shape.rank < top ? top : top + 1;
    top = middle(first, end);
  }
  Tree tree{parent, {}};
  if (first < top) tree.children.push_back(middle(first, top));
  if (top + 1 < end) tree.children.push_back(middle(top + 1, end));
  return tree;
}

/// Two binary trees of the nodes 1, ..., P-1, both fed by the root. A rank has children in at most
/// one of them, so with half of the vector in each tree every port carries the whole of it once.
/// The first is in order: the parent of a node with lowest bit b is the multiple of 2b beside it.
/// The second is its mirror image for odd P, and for even P the first moved by one node.
/// Sanders, Speck & Traff, Parallel Comput. 35(12), 2009.
inline std::array<Tree, 2> double_binary_tree(const Shape& shape) {
  const Rank node = tree_node(shape), last = shape.size - 1;
  std::array<Tree, 2> trees;
  if (last == 0) return trees;
  // The place that a node takes in the first tree to find its neighbours in the second, and back.
  const auto place = [last](Rank of) {
    return of == 0 ? 0 : last % 2 == 0 ? last + 1 - of : of == 1 ? last : of - 1;
  };
  const auto back = [last](Rank of) {
    return of == 0 ? 0 : last % 2 == 0 ? last + 1 - of : of == last ? 1 : of + 1;
  };
  for (const bool second : {false, true}) {
    const Rank at = second ? place(node) : node;
    const Rank bit = at & -at;
    Rank parent = at == 0 ? -1 : (at - bit) | 2 * bit;
    if (parent > last) parent = at - bit;
    std::vector<Rank> children;
    if (at == 0) {
      children.push_back(static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(last))));
    }
    if (bit > 1) children.push_back(at - bit / 2);
    Rank right = bit / 2;
    while (right > 0 && at + right > last) right /= 2;
    if (right > 0) children.push_back(at + right);
    if (second) {
      if (parent >= 0) parent = back(parent);
      for (Rank& child : children) child = back(child);
    }
    trees[second ? 1 : 0] = relabelled(shape, parent, std::move(children));
  }
  return trees;
}

}  // namespace commtune
