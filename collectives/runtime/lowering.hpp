#pragma once
#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/plan.hpp"

namespace commtune {

/// Sizes of the caches of this host; 0: unknown. Asked once per process.
struct Caches {
  std::uint64_t own = 0;     ///< private to a processor
  std::uint64_t shared = 0;  ///< of all processors together
};
const Caches& caches();

/// What prepare() is about to run on this rank.
struct Subject {
  const Algorithm& algorithm;
  const Shape& shape;
  const Params& params;
  const Schedule& schedule;
};

/// Whether the buffers of all ranks together are larger than the caches, so that nobody finds a
/// result in a cache later. Equal on all ranks.
bool leaves_caches(const Call&, Rank size);

/// Elements of a part per wave: equal on all ranks, and unless `limits` asks for a width, the same
/// bits come out whatever the width.
std::uint64_t wave_width(const Transport&, const Subject&, const Call&, const Limits& limits);

/// How the schedule runs on this transport with these buffers.
Lowering lowering_for(const Transport&, const Subject&, const Call&, std::uint64_t width);

}  // namespace commtune
