#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace commtune {

/// How `--cold` keeps a row's buffers out of the caches: enough buffer pairs in turn to exceed
/// twice the last-level cache, and where that many small pairs would be needed, a sweep through
/// memory of that size before every iteration.
struct ColdPlan {
  std::size_t pairs = 1;
  std::size_t sweep_bytes = 0;
};
/// `memory` limits the bytes of all pairs; at least one pair is planned.
ColdPlan plan_cold(std::uint64_t pair_bytes, std::size_t cache_bytes,
                   std::size_t private_cache_bytes, int ranks_on_node, std::uint64_t memory);

/// Evicts this processor's caches by writing `bytes` of its own memory.
class CacheSweep {
 public:
  explicit CacheSweep(std::size_t bytes) : memory_(bytes / sizeof(std::uint64_t)) {}
  void operator()() noexcept;

 private:
  std::vector<std::uint64_t> memory_;
};

}  // namespace commtune
