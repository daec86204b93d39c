#include "microbench/nodes.hpp"

#include <algorithm>

namespace commtune {

NodeMap map_nodes(const std::vector<std::string>& host_of_rank) {
  NodeMap map;
  std::vector<std::string> hosts;
  std::vector<int> ranks_on;
  for (const std::string& host : host_of_rank) {
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    const auto node = static_cast<std::size_t>(found - hosts.begin());
    if (found == hosts.end()) {
      hosts.push_back(host);
      ranks_on.push_back(0);
    }
    ++ranks_on[node];
    map.node_of.push_back(static_cast<int>(node));
  }
  map.nodes = std::max(1, static_cast<int>(hosts.size()));
  for (const int ranks : ranks_on) map.largest = std::max(map.largest, ranks);
  return map;
}

}  // namespace commtune
