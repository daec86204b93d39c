#pragma once
#include <vector>

namespace commtune {

/// Operating-system indices of the processors that this thread may use, ascending. Unlike
/// discover_topology() this asks the kernel alone, so a described machine does not change it.
std::vector<int> usable_processors();

}  // namespace commtune
