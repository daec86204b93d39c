#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/matching.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Draws from a seed; the same on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  /// A number below `bound`, which is positive.
  std::size_t below(std::size_t bound);

 private:
  std::uint64_t state_;
};

/// The programs under mutation, the rank whose program is broken and its pairing of messages.
struct Victim {
  std::vector<Schedule>& schedules;
  Rank rank;
  const Matching& matching;

  Schedule& program() const { return schedules[static_cast<std::size_t>(rank)]; }
  StepId steps() const { return static_cast<StepId>(program().steps.size()); }
  /// The other end of a message, in its own rank's program.
  Step& other_end(StepId step) const;
};

/// One kind of fault. `candidates` lists the steps (or edges, as indices into `successors`) at
/// which it is surely a fault, never an equivalent program; `apply` commits it and says what was
/// done.
struct Mutation {
  std::vector<std::uint32_t> (*candidates)(const Victim&);
  std::string (*apply)(const Victim&, std::uint32_t at, Dice&);
};
std::span<const Mutation> message_mutations() noexcept;
std::span<const Mutation> local_mutations() noexcept;
std::span<const Mutation> order_mutations() noexcept;

/// The run last written into each scratch slot when `step` starts, in program order.
std::vector<BlockSpace::Range> slots_before(const Schedule&, StepId step);
/// Whether `reader` reads a place that `writer` writes: the same buffer, slot and some block.
bool feeds(const Step& writer, const Step& reader);
/// Whether both steps touch the same place and one of them writes it.
bool conflicts(const Step& first, const Step& second);
/// For each step whether it sends, writes output, or feeds such a step of its program.
std::vector<bool> useful_steps(const Schedule&);
/// Whether blocks of the run may stand in the output from the start: in place, data of the rank's
/// own that needs no combining.
bool own_output(const BlockSpace&, std::uint32_t first, std::uint32_t count);
/// The edges of `schedule` as (from, to).
std::vector<std::pair<StepId, StepId>> edges_of(const Schedule&);
/// Removes `step` and its edges.
void drop_step(Schedule&, StepId step);
/// Copies `step` to the place after it; the copy has the same edges as the original.
void repeat_step(Schedule&, StepId step);

}  // namespace commtune
