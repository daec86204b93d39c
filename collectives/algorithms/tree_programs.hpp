#pragma once
#include <span>
#include <vector>

#include "collectives/algorithms/trees.hpp"

namespace commtune {

/// Broadcasts `block` down `tree`, from the root's input to the others' output.
inline void spread(ScheduleBuilder& program, const Tree& tree, std::uint32_t block) {
  const bool root = tree.parent < 0;
  if (!root) program.recv(tree.parent, out(block));
  for (const Rank child : tree.children) program.send(child, root ? in(block) : out(block));
}

/// Broadcast down one tree in segments, one after the other.
inline Schedule spread_segments(const Shape& shape, const Tree& tree, std::uint32_t segments) {
  ScheduleBuilder program(Collective::broadcast, shape, segments);
  for (std::uint32_t s = 0; s < segments; ++s) spread(program, tree, s);
  if (tree.parent < 0) program.copy(in(0, segments), out(0, segments));
  return std::move(program).finish();
}

/// Signals `ranks` in turn. Only the first waits for earlier steps, and it stands for them for the
/// others, so the edges stay few where both are many.
inline void signal_all(ScheduleBuilder& program, std::span<const Rank> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    program.signal(ranks[i]);
    if (i == 0) program.fence();
  }
}

/// Reduces blocks up trees into the root's output. Of two operands the one that arrives from a
/// lower rank comes first. Arrivals land in `in_flight` + 1 scratch slots in turn, and a partial
/// sum stays where its last operand landed, so the next message can land during a reduction.
class TreeSum {
 public:
  TreeSum(ScheduleBuilder& program, Rank rank, std::uint32_t in_flight)
      : program_(program), rank_(rank), slots_(in_flight + 1) {}

  void add(const Tree& tree, std::uint32_t block) {
    Slice partial = in(block);
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
      const Slice arrived = tmp(arrivals_++ % slots_, block);
      const Slice sum = tree.parent < 0 ? out(block) : arrived;
      program_.recv(*child, arrived);
      if (*child < rank_) {
        program_.reduce(arrived, partial, sum);
      } else {
        program_.reduce(partial, arrived, sum);
      }
      partial = sum;
    }
    if (tree.parent >= 0) {
      program_.send(tree.parent, partial);
    } else if (tree.children.empty()) {
      program_.copy(in(block), out(block));
    }
  }

 private:
  ScheduleBuilder& program_;
  Rank rank_;
  std::uint32_t slots_, arrivals_ = 0;
};

/// Reduction up one tree in segments, one after the other.
inline Schedule sum_segments(const Shape& shape, const Tree& tree, std::uint32_t segments,
                             std::uint32_t in_flight) {
  ScheduleBuilder program(Collective::reduce, shape, segments);
  TreeSum sum(program, shape.rank, in_flight);
  for (std::uint32_t s = 0; s < segments; ++s) sum.add(tree, s);
  return std::move(program).finish();
}

/// Gathers parts up the k-nomial tree. An inner node passes the parts of its subtree on in one
/// message, each from where it landed.
inline Schedule gather_knomial_parts(const Shape& shape, std::uint32_t radix) {
  const Rank node = tree_node(shape), size = shape.size;
  const KnomialNode place(node, size, radix);
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(tree_rank(shape, of)); };
  ScheduleBuilder program(Collective::gather, shape, 1);
  std::vector<Slice> held{in(part(node))}, arriving;
  std::uint32_t slot = 0;
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
    arriving.clear();
    const Rank end = *child + KnomialNode(*child, size, radix).extent;
    for (Rank of = *child; of < end; ++of) {
      arriving.push_back(node == 0 ? out(part(of)) : tmp(slot++, part(of)));
    }
    program.recv(tree_rank(shape, *child), arriving);
    held.insert(held.end(), arriving.begin(), arriving.end());
  }
  if (node == 0) {
    program.copy(in(part(0)), out(part(0)));
  } else {
    program.send(tree_rank(shape, place.parent), held);
  }
  return std::move(program).finish();
}

/// Scatters parts down the k-nomial tree. The parts of a subtree are one run of ranks, or two where
/// they pass the last rank; an inner node keeps them in one scratch slot each.
inline Schedule scatter_knomial_parts(const Shape& shape, std::uint32_t radix) {
  const Rank node = tree_node(shape), size = shape.size;
  const KnomialNode place(node, size, radix);
  const auto mine = static_cast<std::uint32_t>(shape.rank);
  const auto runs = [&](Rank first, Rank count) {
    const Rank begin = tree_rank(shape, first), before_wrap = std::min(count, size - begin);
    const auto run = [&](Rank from, Rank length) {
      const auto part = static_cast<std::uint32_t>(from);
      const auto parts = static_cast<std::uint32_t>(length);
      return node == 0 ? in(part, parts) : tmp(part < mine ? 1 : 0, part, parts);
    };
    std::vector<Slice> pieces{run(begin, before_wrap)};
    if (before_wrap < count) pieces.push_back(run(0, count - before_wrap));
    return pieces;
  };
  ScheduleBuilder program(Collective::scatter, shape, 1);
  if (node != 0) {
    const Rank parent = tree_rank(shape, place.parent);
    if (place.children.empty()) {
      program.recv(parent, out(mine));
    } else {
      program.recv(parent, runs(node, place.extent));
    }
  }
  for (const Rank child : place.children) {
    program.send(tree_rank(shape, child), runs(child, KnomialNode(child, size, radix).extent));
  }
  if (node == 0) {
    program.copy(in(mine), out(mine));
  } else if (!place.children.empty()) {
    program.copy(tmp(0, mine), out(mine));
  }
  return std::move(program).finish();
}

}  // namespace commtune
