#pragma once
#include <span>

#include "collectives/algorithms/trees.hpp"

namespace commtune {

/// Sums `block` over the subtree into the output and hands the sum to the parent. Keeps the order
/// of ranks where the last child may stand for lower ranks, and the others, from there to the
/// first, for the ranks that follow. `slot()` is a free scratch slot.
template <class Slot>
void reduce_up(ScheduleBuilder& program, Rank rank, const Tree& tree, std::uint32_t block,
               Slot slot) {
  Slice partial = in(block);
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    const Slice arrived = tmp(slot(), block);
    const bool lower = *child < rank;
    program.recv(*child, arrived);
    program.reduce(lower ? arrived : partial, lower ? partial : arrived, out(block));
    partial = out(block);
  }
  if (tree.parent >= 0) program.send(tree.parent, partial);
}

inline void broadcast_down(ScheduleBuilder& program, const Tree& tree, std::uint32_t block) {
  if (tree.parent >= 0) program.recv(tree.parent, out(block));
  for (const Rank child : tree.children) program.send(child, out(block));
}

/// An allreduce along trees side by side: tree t carries the blocks from t * segments on. All
/// segments go up before the first one comes down; `slots` blocks can be on their way to a rank.
inline Schedule reduce_and_broadcast(const Shape& shape, std::span<const Tree> trees,
                                     std::uint32_t segments, std::uint32_t slots) {
  const std::uint32_t blocks = static_cast<std::uint32_t>(trees.size()) * segments;
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  if (shape.size == 1) program.copy(in(0, blocks), out(0, blocks));
  std::uint32_t used = 0;
  for (std::uint32_t s = 0; s < segments; ++s) {
    for (std::uint32_t t = 0; t < trees.size(); ++t) {
      reduce_up(program, shape.rank, trees[t], t * segments + s, [&] { return used++ % slots; });
    }
  }
  for (std::uint32_t s = 0; s < segments; ++s) {
    for (std::uint32_t t = 0; t < trees.size(); ++t) {
      broadcast_down(program, trees[t], t * segments + s);
    }
  }
  return std::move(program).finish();
}

}  // namespace commtune
