#pragma once
#include <optional>
#include <vector>

#include "collectives/schedule/verify.hpp"

namespace commtune {

/// Pairs the k-th send from i to j with the k-th recv at j from i. Steps of all ranks share one
/// numbering: step s of rank r is begin[r] + s.
struct Matching {
  static constexpr std::uint32_t none = 0xffffffff;
  std::vector<std::uint32_t> begin;    ///< ranks + 1 entries
  std::vector<std::uint32_t> partner;  ///< of a send or recv; `none` for local steps

  Rank rank_of(std::uint32_t step) const;
};

/// Fills `matching`. Peers must exist. Returns `unmatched` when a message lacks one end.
std::optional<Violation> match_messages(const std::vector<Schedule>&, Matching& matching);

}  // namespace commtune
