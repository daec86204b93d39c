#include "microbench/nodes.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace commtune {

NodeMap map_nodes(const std::vector<std::string>& host_of_rank) {
  NodeMap map;
  std::unordered_map<std::string_view, std::size_t> hosts;
  std::vector<int> ranks_on;
  for (const std::string& host : host_of_rank) {
    const auto [known, fresh] = hosts.try_emplace(host, hosts.size());
    if (fresh) ranks_on.push_back(0);
    ++ranks_on[known->second];
    map.node_of.push_back(static_cast<int>(known->second));
  }
  map.nodes = std::max(1, static_cast<int>(hosts.size()));
  for (const int ranks : ranks_on) map.largest = std::max(map.largest, ranks);
  return map;
}

}  // namespace commtune
