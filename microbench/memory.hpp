#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "transports/job.hpp"

namespace commtune {

/// Bytes this process could still get without swapping: the kernel's estimate, or what the control
/// group leaves when that is less. 0 when neither can be read.
std::uint64_t available_memory();

/// Collective: empty when every rank can have `bytes` beside the other `ranks_on_node` ranks of its
/// node within 80 % of the available memory; otherwise the same reason on every rank, naming the
/// first rank that cannot. Costs one exchange.
std::string memory_shortage(Job&, std::uint64_t bytes, int ranks_on_node);

/// Collective: why `prepare` failed on a rank, the same text on every rank; empty when it failed on
/// none. Error(peer) is passed on: the job is over.
std::string first_problem(Job&, const std::function<void()>& prepare);

}  // namespace commtune
