#include "microbench/cold.hpp"

#include <algorithm>

namespace commtune {

ColdPlan plan_cold(std::uint64_t pair_bytes, std::size_t cache_bytes,
                   std::size_t private_cache_bytes, int ranks_on_node, std::uint64_t memory) {
  constexpr std::uint64_t most_pairs = 64;
  ColdPlan plan;
  if (pair_bytes == 0) return plan;
  const std::uint64_t target = 2 * static_cast<std::uint64_t>(cache_bytes);
  const std::uint64_t wanted = target / pair_bytes + 1;
  const std::uint64_t affordable = std::max<std::uint64_t>(1, memory / pair_bytes);
  plan.pairs = static_cast<std::size_t>(std::min({wanted, affordable, most_pairs}));
  if (plan.pairs * pair_bytes <= target) {
    const auto share = static_cast<std::size_t>(target) / static_cast<std::size_t>(ranks_on_node);
    plan.sweep_bytes = std::max(share, 2 * private_cache_bytes);
  }
  return plan;
}

void CacheSweep::operator()() noexcept {
  constexpr std::size_t words_per_line = 8;
  for (std::size_t i = 0; i < memory_.size(); i += words_per_line) ++memory_[i];
}

}  // namespace commtune
