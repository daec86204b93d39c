#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace commtune {

/// Where the ranks of one host run.
struct RankBinding {
  enum class Kind : std::uint8_t { launcher, none, core, numa, list } kind = Kind::launcher;
  std::vector<int> processors;  ///< of `list`: one per rank of the host, in order
};

/// "core", "numa", "none", or operating-system indices of processors as "0,2,4-6"; empty: as the
/// launcher left it. At most 65536 processors. Throws Error(usage) that starts with --bind.
RankBinding parse_binding(const std::string& text);

/// Binds this thread as rank `index` of the `ranks` on its host: to the processors of core or NUMA
/// node `index`, round robin, or to the index-th processor of the list. Throws Error(usage) when
/// the list is shorter than `ranks` or names a processor that may not be used.
void apply_binding(const RankBinding&, int index, int ranks);

}  // namespace commtune
