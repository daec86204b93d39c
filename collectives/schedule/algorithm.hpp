#pragma once
#include <span>
#include <string_view>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// A collective algorithm as a value. `id` is "<collective>/<name>"; the file is
/// collectives/algorithms/<collective>_<name>.cpp.
struct Algorithm {
  Collective collective;
  std::string_view name;
  Generator generate;
  std::string_view
      tunables;              ///< the Params members it reads: "segments", "radix", "segments,radix"
  std::string_view summary;  ///< one line: idea, cost, citation
};

/// Every algorithm, sorted by (collective, name), from the list in registry.cpp.
std::span<const Algorithm* const> algorithms() noexcept;
/// Throws Error(usage) that starts with `what` and lists the names known for that collective.
const Algorithm& find_algorithm(Collective, std::string_view name, std::string_view what);

}  // namespace commtune
