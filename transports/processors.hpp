#pragma once
#include <utility>
#include <vector>

namespace commtune {

/// Operating-system indices of the processors that this thread may use, ascending. Unlike
/// discover_topology() this asks the kernel alone, so a described machine does not change it.
std::vector<int> usable_processors();

class Bootstrap;
/// Collective. True when not every rank on this rank's host can have a processor of its own among
/// those that it may use.
bool ranks_are_crowded(Bootstrap&);
/// Collective. This rank's number among the ranks on its host, and how many those are.
std::pair<int, int> place_on_host(Bootstrap&);

}  // namespace commtune
