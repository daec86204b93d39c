#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/schedule/matching.hpp"
#include "collectives/schedule/verify.hpp"

namespace commtune {

/// What verify() is told, shared by its passes, which run in this order.
struct VerifyInput {
  Collective collective;
  Rank root;
  bool in_place;
  const std::vector<Schedule>& schedules;

  std::size_t ranks() const noexcept { return schedules.size(); }
};
/// The blocks of one part, of `blocks` in all.
inline std::uint32_t part_blocks(const VerifyInput& input, std::uint32_t blocks) {
  if (!parted(input.collective)) return blocks;
  const auto size = static_cast<std::uint32_t>(input.ranks());
  return input.collective == Collective::alltoall ? blocks / size / size : blocks / size;
}

/// Blocks, slots, peers and edges exist; nothing writes into the caller's input.
std::optional<Violation> check_structure(const VerifyInput&);
/// Both ends of every message name the same blocks.
std::optional<Violation> check_messages(const VerifyInput&, const Matching&);
/// Every pair of conflicting accesses is ordered by a path of edges, and a reader of a scratch slot
/// names blocks of the run last written into it. Derived from the steps alone.
std::optional<Violation> check_hazards(const VerifyInput&);
/// Runs all programs with one send and one recv in flight per rank and synchronous sends, and
/// checks what they leave. Needs programs that passed the other passes.
std::optional<Violation> check_execution(const VerifyInput&, const Matching&, Facts&);

/// Calls visit(buffer, slot, write) for each slice a step accesses, reads before the write.
template <class Visit>
void for_each_access(const Step& step, Visit visit) {
  if (step.count == 0) return;
  switch (step.kind) {
    case StepKind::send:
      visit(step.a, step.a_slot, false);
      return;
    case StepKind::recv:
      visit(step.dst, step.dst_slot, true);
      return;
    case StepKind::reduce:
      visit(step.a, step.a_slot, false);
      visit(step.b, step.b_slot, false);
      visit(step.dst, step.dst_slot, true);
      return;
    case StepKind::copy:
      visit(step.a, step.a_slot, false);
      visit(step.dst, step.dst_slot, true);
      return;
  }
}

}  // namespace commtune
