#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// What a step costs where the target format wants durations and bytes.
struct GoalCosts {
  std::uint64_t part_bytes = 1 << 20;  ///< of a part, or of the vector, as in Layout
  double reduce_ns_per_byte = 0.1, copy_ns_per_byte = 0.05;
};

/// All ranks' programs in the text format GOAL of LogGOPSim: sends and receives with the tag that
/// pairs them, reductions and copies as computations, dependencies as `requires`. An empty message
/// becomes one of 1 byte. Throws Error(usage) when messages do not match.
std::string to_goal(const std::vector<Schedule>&, Collective, const GoalCosts&);

/// All ranks' programs as MSCCL XML: one thread block per connection and one for local steps. The
/// XML says that it runs in place or out of place, as the schedules do. Throws Error(usage) for
/// what MSCCL cannot say: collectives other than allreduce, allgather, reduce_scatter and alltoall,
/// and empty messages.
std::string to_msccl(const std::vector<Schedule>&, Collective, bool in_place,
                     std::string_view name);

}  // namespace commtune
