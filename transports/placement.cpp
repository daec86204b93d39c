#include "transports/placement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <map>
#include <memory>
#include <set>

#include "core/error.hpp"
#include "transports/processors.hpp"

namespace commtune {
namespace {

struct BitmapFree {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

std::vector<int> indices_of(const hwloc_bitmap_s* bitmap) {
  std::vector<int> indices;
  for (int index = hwloc_bitmap_first(bitmap); index >= 0;
       index = hwloc_bitmap_next(bitmap, index)) {
    indices.push_back(index);
  }
  return indices;
}

/// Finds a processor for `rank`, moving others on where that frees one.
bool seat(std::size_t rank, std::span<const std::vector<int>> usable,
          std::map<int, std::size_t>& at, std::set<int>& tried) {
  for (const int processor : usable[rank]) {
    if (!tried.insert(processor).second) continue;
    const auto taken = at.find(processor);
    if (taken == at.end() || seat(taken->second, usable, at, tried)) {
      at[processor] = rank;
      return true;
    }
  }
  return false;
}

bool disjoint(const std::vector<int>& a, const std::vector<int>& b) {
  return std::none_of(a.begin(), a.end(),
                      [&](int each) { return std::find(b.begin(), b.end(), each) != b.end(); });
}

}  // namespace

RankPlacement own_rank_placement(std::string host) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) fail(Errc::system, "hwloc: cannot start");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owned(
      topology, &hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) fail(Errc::system, "hwloc: cannot read this machine");
  RankPlacement placement{std::move(host), usable_processors(), {}, {}};
  const Bitmap processors(hwloc_bitmap_alloc()), nodes(hwloc_bitmap_alloc());
  if (!processors || !nodes) fail(Errc::system, "hwloc: out of memory");
  for (const int index : placement.processors) {
    hwloc_bitmap_set(processors.get(), static_cast<unsigned>(index));
  }
  hwloc_cpuset_to_nodeset(topology, processors.get(), nodes.get());
  placement.numa_nodes = indices_of(nodes.get());
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
  const int read = hwloc_get_membind(topology, nodes.get(), &policy,
                                     HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
  if (read == 0 && policy == HWLOC_MEMBIND_BIND) placement.memory_nodes = indices_of(nodes.get());
  return placement;
}

bool processors_suffice(std::span<const std::vector<int>> usable) {
  std::map<int, std::size_t> at;
  for (std::size_t rank = 0; rank < usable.size(); ++rank) {
    std::set<int> tried;
    if (!seat(rank, usable, at, tried)) return false;
  }
  return true;
}

std::vector<PlacementFinding> judge_placement(std::span<const RankPlacement> ranks) {
  using Mask = std::pair<std::string, std::vector<int>>;
  std::map<Mask, std::vector<std::size_t>> sharing;
  std::map<std::string, std::set<int>> used;
  std::map<std::string, std::size_t> on_host;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    sharing[{ranks[rank].host, ranks[rank].processors}].push_back(rank);
    ++on_host[ranks[rank].host];
    used[ranks[rank].host].insert(ranks[rank].processors.begin(), ranks[rank].processors.end());
  }
  std::vector<PlacementFinding> findings;
  for (const auto& [mask, group] : sharing) {
    const auto& [host, processors] = mask;
    if (group.size() <= processors.size() || on_host[host] > used[host].size()) continue;
    findings.push_back(
        {"shared_processors",
         fmt::format("ranks {} may only use processor{} {} of {}, together", fmt::join(group, ", "),
                     processors.size() == 1 ? "" : "s", fmt::join(processors, ", "), host)});
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankPlacement& placed = ranks[rank];
    if (placed.memory_nodes.empty() || placed.numa_nodes.empty()) continue;
    if (!disjoint(placed.memory_nodes, placed.numa_nodes)) continue;
    findings.push_back(
        {"numa_mismatch",
         fmt::format("rank {} runs on NUMA node {} of {}, its memory is bound to node {}", rank,
                     fmt::join(placed.numa_nodes, ", "), placed.host,
                     fmt::join(placed.memory_nodes, ", "))});
  }
  return findings;
}

}  // namespace commtune
