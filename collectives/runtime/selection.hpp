#pragma once
#include <string>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

struct Selection {
  const Algorithm* algorithm;
  Params params;
  std::string evidence;  ///< "built-in table", "table t.json"
};

/// One rule of a decision table: from this many bytes per rank on, use this algorithm.
struct SelectionRule {
  std::uint64_t from_bytes;
  const Algorithm* algorithm;
  Params params;
};

/// What `--algorithm auto` means for `bytes` per rank without a measured table.
Selection select_built_in(Collective, Rank size, std::uint64_t bytes);

}  // namespace commtune
