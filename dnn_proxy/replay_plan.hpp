#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dnn_proxy/workload.hpp"

namespace commtune {

/// A collective of a workload; operations that differ in nothing here share one row of the result.
struct CallSpec {
  Collective collective = Collective::allreduce;
  std::uint64_t count = 0;
  DataType dtype = DataType::float32;
  Rank root = 0;
  bool operator==(const CallSpec&) const = default;
};
/// Bytes a rank contributes, the usual axis of tables: count * element size.
std::uint64_t bytes_per_rank(const CallSpec&) noexcept;
/// "broadcast 53,120 float32".
std::string describe(const CallSpec&);

/// What a rank does next.
struct Action {
  enum class Kind : std::uint8_t {
    compute,
    run,    ///< a collective to its end
    start,  ///< a collective that a later wait on its slot completes
    wait
  };
  Kind kind = Kind::compute;
  std::int64_t compute_ns = 0;
  std::uint32_t call = 0;  ///< index into ReplayPlan::calls
  /// Collectives in flight together have different slots: lanes and memory belong to a slot.
  std::uint32_t slot = 0;
  std::uint64_t compute_flops = 0;  ///< work in addition to compute_ns
  bool operator==(const Action&) const = default;
};

struct StepPlan {
  std::uint64_t number = 0;      ///< of the recording
  std::int64_t recorded_ns = 0;  ///< 0: unknown
  std::vector<Action> before;    ///< since the previous step, outside the step's time
  std::vector<Action> actions;   ///< the step
  bool operator==(const StepPlan&) const = default;
};

struct ReplayPlan {
  std::vector<CallSpec> calls;
  std::vector<StepPlan> steps;
  std::vector<Action> after;  ///< what follows the last step, outside any step's time
  std::uint32_t slots = 0;
  std::uint64_t early_waits = 0;  ///< waits moved forward because every slot was taken
};

/// Lanes 0 to 29 in pairs; the last lane belongs to the harness.
inline constexpr std::uint32_t replay_slots = 15;
inline constexpr std::uint32_t lanes_per_slot = 2;

struct PlanOptions {
  double compute_scale = 1;
  bool gaps = false;                   ///< idle time of the recording becomes compute
  std::uint32_t slots = replay_slots;  ///< collectives in flight at most
};

/// Throws Error(usage) unless `size` ranks of this build can replay the workload: every kind has an
/// executor, every group is the world, roots exist, programs fit. Names what does not.
void check_replayable(const Workload&, Rank size);

/// The plan of `rank`. A workload with one program gives it to every rank; one with
/// several gives rank r program r modulo their number, provided that they communicate alike.
/// Collectives beyond the slots first wait for the oldest in flight; what is in flight at the end
/// of a step is waited for there. Assumes check_replayable.
ReplayPlan make_plan(const Workload&, Rank rank, const PlanOptions&);

/// Text equal on all ranks whose plans communicate alike.
std::string communication_of(const ReplayPlan&);

}  // namespace commtune
