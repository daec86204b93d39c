#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule/algorithm.hpp"
#include "collectives/schedule/compose.hpp"

namespace commtune {

/// `size` ranks in groups of `width` consecutive ones; the last group may have fewer.
struct Groups {
  Rank size, width;

  Groups(Rank ranks, const Params& params)
      : size(ranks), width(std::max<Rank>(1, static_cast<Rank>(params.group))) {}
  Rank count() const { return (size + width - 1) / width; }
  Rank of(Rank rank) const { return rank / width; }
  Rank first(Rank group) const { return group * width; }
  Rank members(Rank group) const { return std::min(width, size - first(group)); }
  Rank last_members() const { return members(count() - 1); }
  std::vector<Rank> ranks(Rank group) const;
  /// In every group the rank at `position`, counted around the group; in the group of `root`, where
  /// one is given, the root.
  std::vector<Rank> leaders(Rank position = 0, Rank root = -1) const;
  /// The blocks of a group where every rank has `blocks`.
  BlockRun run(Rank group, std::uint32_t blocks) const;
};

/// A collective that a hierarchical algorithm runs inside or between groups, and the algorithm it
/// uses unless told otherwise.
struct Phase {
  Collective collective;
  std::string_view preferred;
};

/// What a hierarchical algorithm is made of. Params::intra names one algorithm for all phases
/// inside groups, or one for each, as "binomial+linear"; Params::inter names the one between
/// groups. With Params::cluster, `self` runs between the groups, on groups of `cluster` groups.
struct Hierarchy {
  std::span<const Phase> intra;
  Phase inter;
  Generator self;
  Refusal refuse_self;
  bool equal_groups = false;
};

/// `params` are accepted by refuse().
SubProgram intra_program(const Hierarchy&, const Params&, std::size_t phase);
SubProgram inter_program(const Hierarchy&, const Params&);

/// Why the hierarchy cannot serve the shape: groups that are not groups, names that are unknown or
/// of the wrong kind, or what the algorithms inside and between the groups refuse.
std::string refuse(const Hierarchy&, const Shape&, const Params&);

/// The part of refuse() that concerns the groups.
std::string refuse_groups(const Shape&, const Params&, bool equal_groups);

/// A number of blocks per part that suits the intra phases at both group sizes and the inter phase.
std::uint32_t blocks_for(const Hierarchy&, const Groups&, const Params&);

}  // namespace commtune
