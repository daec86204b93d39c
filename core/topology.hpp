#pragma once
#include <string>
#include <vector>

namespace commtune {

/// What hwloc reports of this host, restricted to the processors this process may use.
struct Topology {
  std::string host;  ///< node name
  int packages = 0, numa_nodes = 0, cores = 0, processors = 0;
  int allowed_processors = 0;  ///< processors in this process's mask
  std::vector<int> allowed;    ///< their operating-system indices, ascending
  std::size_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< of one cache; 0 = unknown
  std::size_t memory_bytes = 0;
  std::string summary;  ///< "1 package, 1 NUMA node, 2 cores, 2 processors"
};

/// Reads the machine through hwloc. Honours HWLOC_SYNTHETIC and HWLOC_XMLFILE.
Topology discover_topology();

/// Where a process runs: its processor mask as a list ("0-1") and the NUMA node it is bound to, or
/// -1 when the mask spans several.
struct Placement {
  std::string cpuset;
  int numa = -1;
};
Placement current_placement();

/// The processors that this process may use, grouped by the core or NUMA node they belong to, in
/// the order of the machine; groups without a usable processor are left out.
enum class Place { core, numa_node };
std::vector<std::vector<int>> processors_by(Place);

/// Binds the calling process or thread to these processors; false if refused.
bool bind_to_processors(const std::vector<int>& indices);
/// Binds the calling process or thread to one processor by operating-system index; false if
/// refused.
bool bind_to_processor(int index);

/// True when `ranks` on this host exceed the processors they may use.
bool oversubscribed(int ranks, const Topology&);

}  // namespace commtune
