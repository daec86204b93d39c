#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/mutations.hpp"
#include "collectives/schedule/verify_passes.hpp"

// Faults in what a step reads and computes. Steps whose result nobody needs are left alone: some
// algorithms move more than they must.
namespace commtune {
namespace {

using Candidates = std::vector<std::uint32_t>;

template <class Keep>
Candidates steps_where(const Victim& victim, Keep keep) {
  Candidates found;
  for (StepId i = 0; i < victim.steps(); ++i) {
    if (keep(victim.program().steps[i])) found.push_back(i);
  }
  return found;
}

template <class Keep>
Candidates useful_where(const Victim& victim, Keep keep) {
  const auto useful = useful_steps(victim.program());
  Candidates found;
  for (StepId i = 0; i < victim.steps(); ++i) {
    if (useful[i] && keep(victim.program().steps[i])) found.push_back(i);
  }
  return found;
}

Candidates local_steps(const Victim& victim) {
  const BlockSpace& space = victim.program().space;
  return useful_where(victim, [&](const Step& step) {
    if (step.kind == StepKind::reduce) return true;
    const bool there = step.a == BufferId::scratch && step.dst == BufferId::output &&
                       own_output(space, step.first, step.count);
    return step.kind == StepKind::copy && !there;
  });
}

Candidates reduces(const Victim& victim) {
  return useful_where(victim, [](const Step& step) { return step.kind == StepKind::reduce; });
}

/// A reduce that overwrites one of its operands adds the other one twice when repeated.
Candidates accumulating_reduces(const Victim& victim) {
  return useful_where(victim, [](const Step& step) {
    return step.kind == StepKind::reduce && ((step.dst == step.a && step.dst_slot == step.a_slot) ||
                                             (step.dst == step.b && step.dst_slot == step.b_slot));
  });
}

/// Steps that read data from the buffer named by operand a.
Candidates readers(const Victim& victim) {
  return steps_where(
      victim, [](const Step& step) { return step.kind != StepKind::recv && step.count > 0; });
}

Candidates slot_users(const Victim& victim) {
  if (victim.program().slots < 2) return {};
  return steps_where(victim, [](const Step& step) {
    bool uses = false;
    for_each_access(step, [&](BufferId buffer, std::uint16_t, bool) {
      uses = uses || buffer == BufferId::scratch;
    });
    return uses && step.kind != StepKind::reduce;
  });
}

std::string drop_local(const Victim& victim, std::uint32_t at, Dice&) {
  const std::string what = describe(victim.program().steps[at]);
  drop_step(victim.program(), at);
  return fmt::format("dropped step {}: {}", at, what);
}

std::string repeat_reduce(const Victim& victim, std::uint32_t at, Dice&) {
  repeat_step(victim.program(), at);
  return fmt::format("repeated step {}: {}", at, describe(victim.program().steps[at]));
}

std::string copy_instead_of_reduce(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  step.kind = StepKind::copy;
  step.b = {};
  step.b_slot = 0;
  return fmt::format("step {} copies instead: {}", at, what);
}

std::string reduce_twice_the_same(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  step.b = step.a;
  step.b_slot = step.a_slot;
  return fmt::format("step {} adds its first operand to itself: {}", at, what);
}

/// Reads from a slot that is empty or holds another run, a new one if there is no such slot.
std::string read_wrong_buffer(const Victim& victim, std::uint32_t at, Dice&) {
  Schedule& program = victim.program();
  Step& step = program.steps[at];
  const std::string what = describe(step);
  const auto held = slots_before(program, at);
  std::uint32_t slot = 0;
  while (slot < held.size() && held[slot].holds(step.first, step.count)) ++slot;
  if (slot == program.slots) ++program.slots;
  step.a = BufferId::scratch;
  step.a_slot = static_cast<std::uint16_t>(slot);
  return fmt::format("step {} reads scratch[{}] instead: {}", at, slot, what);
}

/// Takes a slot that is empty or holds another run: two slots may hold one value.
std::string use_wrong_slot(const Victim& victim, std::uint32_t at, Dice& dice) {
  Schedule& program = victim.program();
  Step& step = program.steps[at];
  const std::string what = describe(step);
  std::uint16_t& slot =
      step.kind == StepKind::recv || step.a != BufferId::scratch ? step.dst_slot : step.a_slot;
  const auto held = slots_before(program, at);
  std::vector<std::uint16_t> others;
  for (std::uint16_t i = 0; i < held.size(); ++i) {
    if (i != slot && !held[i].holds(step.first, step.count)) others.push_back(i);
  }
  if (others.empty()) return {};
  slot = others[dice.below(others.size())];
  return fmt::format("step {} uses scratch[{}] instead: {}", at, slot, what);
}

std::string write_missing_slot(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  step.dst = BufferId::scratch;
  step.dst_slot = static_cast<std::uint16_t>(victim.program().slots);  // one past the last slot
  return fmt::format("step {} writes a slot that does not exist: {}", at, what);
}

constexpr Mutation mutations[] = {
    {local_steps, drop_local},         {accumulating_reduces, repeat_reduce},
    {reduces, copy_instead_of_reduce}, {reduces, reduce_twice_the_same},
    {readers, read_wrong_buffer},      {slot_users, use_wrong_slot},
    {reduces, write_missing_slot},
};

}  // namespace

std::span<const Mutation> local_mutations() noexcept { return mutations; }

}  // namespace commtune
