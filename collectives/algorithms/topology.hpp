#pragma once
#include <bit>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// `rank` taken around the ring of `size` ranks.
constexpr Rank around(Rank rank, Rank size) { return ((rank % size) + size) % size; }

/// How `size` ranks become a power of two: the first 2*extra ranks form pairs (2i, 2i+1), of which
/// the even one hands its part to the odd one and gets the result from it at the end. The others
/// and the odd ones are the `size` of the hypercube, numbered so that order is kept.
struct Fold {
  Rank cube, extra;

  explicit Fold(Rank size)
      : Fold(size, static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(size)))) {}
  /// Folds to any number of nodes from size / 2 to size.
  Fold(Rank size, Rank nodes) : cube(nodes), extra(size - nodes) {}
  constexpr bool paired(Rank rank) const { return rank < 2 * extra; }
  /// Hands its part over and waits.
  constexpr bool idle(Rank rank) const { return paired(rank) && rank % 2 == 0; }
  /// Number in the hypercube; not for idle ranks.
  constexpr Rank node(Rank rank) const { return paired(rank) ? rank / 2 : rank - extra; }
  constexpr Rank rank(Rank node) const { return node < extra ? 2 * node + 1 : node + extra; }
};

}  // namespace commtune
