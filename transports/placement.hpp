#pragma once
#include <span>
#include <string>
#include <vector>

namespace commtune {

/// Where one rank may run and where its memory may be, as the kernel says.
struct RankPlacement {
  std::string host;
  std::vector<int> processors;    ///< operating-system indices, ascending
  std::vector<int> numa_nodes;    ///< those that the processors belong to
  std::vector<int> memory_nodes;  ///< those that its memory is bound to; empty: not bound
};

/// Of the calling thread. Throws Error(system) when hwloc cannot read the machine.
RankPlacement own_rank_placement(std::string host);

/// Whether every rank of a host can have a processor of its own: a matching of ranks and
/// processors (Kuhn 1955), `usable[r]` being those that rank r may use.
bool processors_suffice(std::span<const std::vector<int>> usable);

/// What is wrong with the placement of a job. `flag` is what rows get.
struct PlacementFinding {
  std::string flag;  ///< "shared_processors", "numa_mismatch"
  std::string text;  ///< names ranks, host and places
};
/// Ranks of one host that share too few processors while the host's ranks together have enough;
/// memory that is bound to other NUMA nodes than the processors. By rank.
std::vector<PlacementFinding> judge_placement(std::span<const RankPlacement>);

}  // namespace commtune
