#pragma once
#include <string_view>
#include <vector>

#include "harness/clock_map.hpp"
#include "transports/job.hpp"

namespace commtune {

/// synchronise_clocks() with a given clock identity: ranks with equal identities share one clock.
ClockMap synchronise_clocks(Job&, std::string_view identity);

/// A reading of every clock of the map, an element per rank. Collective. Fewer round trips than
/// synchronise_clocks(), so that it can surround every row; not to be called when all ranks share
/// one clock.
std::vector<ClockReading> read_clocks(Job&, const ClockMap&);

}  // namespace commtune
