#pragma once
#include <vector>

#include "collectives/runtime/plan.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// What lowering needs to know about the steps of one program.
struct PlanAnalysis {
  static constexpr StepId none = ~StepId{0};
  /// Most sources of one fused reduction: the kernels are unrolled up to here.
  static constexpr std::size_t most_sources = 8;
  /// A message is held in place only while at most this many later ones arrive, so that a rank
  /// never holds more of a lane's slots than the transport has.
  static constexpr std::size_t most_held = 16;

  PlanAnalysis(const Schedule&, ViewUse);

  std::vector<StepId> wrote_a, wrote_b;  ///< who wrote the scratch that a step reads; none
  std::vector<bool> elided;              ///< recv runs that are read in the message, not landed
  std::vector<StepId> fused;             ///< the reduction that a reduction takes over; none
  std::vector<bool> taken;               ///< reductions that another one takes over

 private:
  void find_writers(const Schedule&);
  void find_elided(const Schedule&);
  /// Takes back what is not sure to end; see ViewUse::cautious.
  void keep_cautious(const Schedule&);
  bool drop_circular(const Schedule&);
  void find_fused(const Schedule&);
  bool chains(const Schedule&, StepId first, StepId second) const;
};

/// Whether `step` is part of a message of several runs.
inline bool in_group(const Schedule& schedule, StepId step) {
  return schedule.steps[step].joined || (step > 0 && schedule.steps[step - 1].joined);
}

}  // namespace commtune
