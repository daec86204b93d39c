#include "collectives/parameter_server/parameters.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace commtune {

std::string_view name(UpdateMode mode) noexcept {
  return mode == UpdateMode::synchronous ? "synchronous" : "asynchronous";
}

void check_plan(const ParameterPlan& plan, Rank size) {
  require(plan.servers >= 1, "parameter server: {} servers; at least one must keep the parameters",
          plan.servers);
  require(plan.servers < size,
          "parameter server: {} servers of {} ranks leave no worker; use at most {}", plan.servers,
          size, size - 1);
  require(plan.first_lane + 1 < lane_count, "parameter server: lanes {} and {} of {}",
          plan.first_lane, plan.first_lane + 1, lane_count);
}

Shard shard_of(const ParameterPlan& plan, Rank server) noexcept {
  const auto servers = static_cast<std::uint64_t>(plan.servers);
  const auto index = static_cast<std::uint64_t>(server);
  const std::uint64_t each = plan.count / servers, longer = plan.count % servers;
  return {index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

}  // namespace commtune
