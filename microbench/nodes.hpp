#pragma once
#include <string>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// Which node each rank runs on; nodes are numbered in order of their first rank.
struct NodeMap {
  std::vector<int> node_of;
  int nodes = 1;
  int largest = 1;  ///< most ranks on one node
};
NodeMap map_nodes(const std::vector<std::string>& host_of_rank);

}  // namespace commtune
