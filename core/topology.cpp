#include "core/topology.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <hwloc.h>
#include <memory>
#include <sched.h>
#include <unistd.h>

#include "core/error.hpp"

namespace commtune {
namespace {

struct BitmapFree {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

struct TopologyDestroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using LoadedTopology = std::unique_ptr<hwloc_topology, TopologyDestroy>;

Bitmap make_bitmap() {
  Bitmap bitmap(hwloc_bitmap_alloc());
  if (!bitmap) fail(Errc::system, "hwloc: out of memory");
  return bitmap;
}

LoadedTopology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) fail(Errc::system, "hwloc: cannot start");
  LoadedTopology owned(topology);
  if (hwloc_topology_load(topology) != 0) {
    fail(Errc::system,
         "hwloc: cannot read this machine's topology; check HWLOC_SYNTHETIC and HWLOC_XMLFILE");
  }
  return owned;
}

/// The processors that `flags` (process or thread) may run on, all allowed ones when the binding
/// cannot be read.
Bitmap allowed_cpuset(hwloc_topology* topology, int flags) {
  Bitmap cpuset = make_bitmap();
  const auto* possible = hwloc_topology_get_allowed_cpuset(topology);
  if (hwloc_get_cpubind(topology, cpuset.get(), flags) == 0) {
    hwloc_bitmap_and(cpuset.get(), cpuset.get(), possible);
  } else {
    hwloc_bitmap_copy(cpuset.get(), possible);
  }
  return cpuset;
}

int count_of(hwloc_topology* topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
}

std::size_t cache_bytes(hwloc_topology* topology, hwloc_obj_type_t type) {
  const hwloc_obj* cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache == nullptr ? 0 : static_cast<std::size_t>(cache->attr->cache.size);
}

/// hwloc reads NUMA node sizes, which some virtual machines misreport, so ask the kernel about the
/// machine that this is.
std::size_t memory_bytes(hwloc_topology* topology) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (hwloc_topology_is_thissystem(topology) != 0 && pages > 0 && page_bytes > 0) {
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
  }
  return static_cast<std::size_t>(hwloc_get_root_obj(topology)->total_memory);
}

std::string host_name() {
  std::array<char, 256> buffer{};
  if (gethostname(buffer.data(), buffer.size() - 1) != 0) return "unknown";
  return buffer.data();
}

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

Topology discover_topology() {
  const LoadedTopology loaded = load_topology();
  hwloc_topology* const topology = loaded.get();
  Topology result;
  result.host = host_name();
  result.packages = count_of(topology, HWLOC_OBJ_PACKAGE);
  result.numa_nodes = count_of(topology, HWLOC_OBJ_NUMANODE);
  result.cores = count_of(topology, HWLOC_OBJ_CORE);
  result.processors = count_of(topology, HWLOC_OBJ_PU);
  const Bitmap cpuset = allowed_cpuset(topology, HWLOC_CPUBIND_PROCESS);
  for (int index = hwloc_bitmap_first(cpuset.get()); index >= 0;
       index = hwloc_bitmap_next(cpuset.get(), index)) {
    result.allowed.push_back(index);
  }
  result.allowed_processors = static_cast<int>(result.allowed.size());
  result.l1d_bytes = cache_bytes(topology, HWLOC_OBJ_L1CACHE);
  result.l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
  result.l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
  result.memory_bytes = memory_bytes(topology);
  result.summary =
      fmt::format("{}, {}, {}, {}", counted(result.packages, "package"),
                  counted(result.numa_nodes, "NUMA node"), counted(result.cores, "core"),
                  counted(result.processors, "processor"));
  return result;
}

Placement current_placement() {
  const LoadedTopology topology = load_topology();
  const Bitmap cpuset = allowed_cpuset(topology.get(), HWLOC_CPUBIND_THREAD);
  Placement placement;
  char* list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, cpuset.get()) < 0) fail(Errc::system, "hwloc: no memory");
  const std::unique_ptr<char, decltype(&std::free)> owned(list, &std::free);
  placement.cpuset = list;
  const Bitmap nodes = make_bitmap();
  hwloc_cpuset_to_nodeset(topology.get(), cpuset.get(), nodes.get());
  if (hwloc_bitmap_weight(nodes.get()) == 1) placement.numa = hwloc_bitmap_first(nodes.get());
  return placement;
}

std::vector<std::vector<int>> processors_by(Place place) {
  const LoadedTopology topology = load_topology();
  const Bitmap allowed = allowed_cpuset(topology.get(), HWLOC_CPUBIND_PROCESS);
  const hwloc_obj_type_t type = place == Place::core ? HWLOC_OBJ_CORE : HWLOC_OBJ_NUMANODE;
  std::vector<std::vector<int>> groups;
  const Bitmap members = make_bitmap();
  for (hwloc_obj* each = nullptr;
       (each = hwloc_get_next_obj_by_type(topology.get(), type, each)) != nullptr;) {
    hwloc_bitmap_and(members.get(), each->cpuset, allowed.get());
    std::vector<int> group;
    for (int index = hwloc_bitmap_first(members.get()); index >= 0;
         index = hwloc_bitmap_next(members.get(), index)) {
      group.push_back(index);
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

bool bind_to_processors(const std::vector<int>& indices) {
  constexpr int highest_index = 1 << 20;
  if (indices.empty()) return false;
  const auto [lowest, highest] = std::minmax_element(indices.begin(), indices.end());
  if (*lowest < 0 || *highest > highest_index) return false;
  const auto bits = static_cast<std::size_t>(*highest) + 1;
  const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
  const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(bits), free_set);
  if (!set) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(bits);
  CPU_ZERO_S(bytes, set.get());
  for (const int index : indices) CPU_SET_S(static_cast<std::size_t>(index), bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

bool bind_to_processor(int index) { return bind_to_processors({index}); }

bool oversubscribed(int ranks, const Topology& topology) {
  return ranks > topology.allowed_processors;
}

}  // namespace commtune
