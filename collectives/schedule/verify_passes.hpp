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

/// Blocks, slots, peers and edges exist; nothing writes into the caller's input.
std::optional<Violation> check_structure(const VerifyInput&);
/// Both ends of every message name the same blocks.
std::optional<Violation> check_messages(const VerifyInput&, const Matching&);
/// Every pair of conflicting accesses is ordered by a path of edges, and a reader of a scratch slot
/// names the run last written into it. Derived from the steps alone.
std::optional<Violation> check_hazards(const VerifyInput&);
/// Runs all programs with one send and one recv in flight per rank and synchronous sends, and
/// checks what they leave. Needs programs that passed the other passes.
std::optional<Violation> check_execution(const VerifyInput&, const Matching&);

/// Numbers the blocks of one rank's input and output storage, aliased when in place.
class Storage {
 public:
  Storage(const BlockSpace& space, bool in_place) {
    const auto wide = space.input.count > space.output.count ? space.input : space.output;
    input_first_ = in_place ? wide.first : space.input.first;
    output_first_ = in_place ? wide.first : space.output.first;
    output_begin_ = in_place ? 0 : space.input.count;
    cells_ = in_place ? wide.count : space.input.count + space.output.count;
  }
  std::uint32_t cells() const noexcept { return cells_; }
  /// `buffer` is input or output and holds `block`.
  std::uint32_t cell(BufferId buffer, std::uint32_t block) const noexcept {
    return buffer == BufferId::input ? block - input_first_ : block - output_first_ + output_begin_;
  }

 private:
  std::uint32_t input_first_, output_first_, output_begin_, cells_;
};

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
