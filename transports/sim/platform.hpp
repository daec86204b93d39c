#pragma once
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "transports/sim/platform_spec.hpp"

namespace commtune::sim {

/// Whether local work takes time on the platform `text`: always, unless a generated one has
/// `work=free`.
bool charges_work(const std::string& text);

/// Creates the hosts in `engine`: of the SimGrid file `text`, or of a generated platform. Empty
/// text is cluster:<ranks>,100G,1us. Returns one host per rank, in the platform's order; throws
/// Error(usage) when there are too few.
std::vector<simgrid::s4u::Host*> create_platform(simgrid::s4u::Engine& engine,
                                                 const std::string& text, Rank ranks);

}  // namespace commtune::sim
