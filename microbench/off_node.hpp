#pragma once
#include <cstdint>

#include "collectives/schedule/algorithm.hpp"
#include "microbench/nodes.hpp"

namespace commtune {

/// Bytes that `rank` sends to other nodes in one call of the algorithm, read off its schedule.
std::uint64_t off_node_bytes(const Algorithm&, const Shape&, const Params&, std::uint64_t count,
                             std::size_t element_bytes, const NodeMap&);

}  // namespace commtune
