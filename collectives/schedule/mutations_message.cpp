#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/mutations.hpp"

// Faults in the messages of a program. Every pass of the verifier assumes that the k-th send meets
// the k-th recv, so a lost, extra or redirected end leaves another end alone.
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

bool is_message(const Step& step) {
  return step.kind == StepKind::send || step.kind == StepKind::recv;
}
bool carries_data(const Step& step) { return is_message(step) && step.count > 0; }

Candidates messages(const Victim& victim) { return steps_where(victim, is_message); }
Candidates data_messages(const Victim& victim) { return steps_where(victim, carries_data); }
Candidates data_recvs(const Victim& victim) {
  return steps_where(
      victim, [](const Step& step) { return step.kind == StepKind::recv && step.count > 0; });
}

std::string drop_message(const Victim& victim, std::uint32_t at, Dice&) {
  const std::string what = describe(victim.program().steps[at]);
  drop_step(victim.program(), at);
  return fmt::format("dropped step {}: {}", at, what);
}

std::string repeat_message(const Victim& victim, std::uint32_t at, Dice&) {
  repeat_step(victim.program(), at);
  return fmt::format("repeated step {}: {}", at, describe(victim.program().steps[at]));
}

std::string redirect(const Victim& victim, std::uint32_t at, Dice& dice) {
  const auto ranks = static_cast<Rank>(victim.schedules.size());
  Step& step = victim.program().steps[at];
  if (ranks < 3) return {};
  Rank peer = step.peer;
  while (peer == step.peer || peer == victim.rank) {
    peer = static_cast<Rank>(dice.below(static_cast<std::size_t>(ranks)));
  }
  const std::string what = describe(step);
  step.peer = peer;
  return fmt::format("redirected step {} to rank {}: {}", at, peer, what);
}

/// Moves a run by one block where it stays inside the collective.
std::uint32_t shifted(const Victim& victim, const Step& step, Dice& dice) {
  const bool down = step.first > 0, up = step.first + step.count < victim.program().space.blocks;
  if (down && (!up || dice.below(2) == 0)) return step.first - 1;
  return up ? step.first + 1 : step.first;
}

std::string shift_one_end(const Victim& victim, std::uint32_t at, Dice& dice) {
  Step& step = victim.program().steps[at];
  const std::uint32_t first = shifted(victim, step, dice);
  if (first == step.first) return {};
  const std::string what = describe(step);
  step.first = first;
  return fmt::format("shifted step {} to block {}: {}", at, first, what);
}

std::string shift_both_ends(const Victim& victim, std::uint32_t at, Dice& dice) {
  Step& step = victim.program().steps[at];
  const std::uint32_t first = shifted(victim, step, dice);
  if (first == step.first) return {};
  const std::string what = describe(step);
  step.first = first;
  victim.other_end(at).first = first;
  return fmt::format("shifted both ends of step {} to block {}: {}", at, first, what);
}

std::string lengthen(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  ++step.count;
  return fmt::format("lengthened step {} by one block: {}", at, what);
}

std::string shorten_both_ends(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  --step.count;  // a single block leaves a bare signal
  --victim.other_end(at).count;
  return fmt::format("shortened both ends of step {} by one block: {}", at, what);
}

/// Sends or recvs to one peer whose next one, to the same peer, moves other blocks.
Candidates exchangeable(const Victim& victim) {
  const auto& steps = victim.program().steps;
  Candidates found;
  for (StepId i = 0; i < victim.steps(); ++i) {
    if (!carries_data(steps[i])) continue;
    for (StepId j = i + 1; j < victim.steps(); ++j) {
      if (steps[j].kind != steps[i].kind || steps[j].peer != steps[i].peer) continue;
      if (steps[j].first != steps[i].first || steps[j].count != steps[i].count) found.push_back(i);
      break;
    }
  }
  return found;
}

std::string exchange_messages(const Victim& victim, std::uint32_t at, Dice&) {
  auto& steps = victim.program().steps;
  StepId other = at + 1;
  while (steps[other].kind != steps[at].kind || steps[other].peer != steps[at].peer) ++other;
  std::swap(steps[at], steps[other]);
  return fmt::format("exchanged steps {} and {}: {}", at, other, describe(steps[other]));
}

/// The recv still takes part in the pairing but lands where nobody looks for it.
std::string recv_into_wrong_buffer(const Victim& victim, std::uint32_t at, Dice&) {
  Schedule& program = victim.program();
  Step& step = program.steps[at];
  const std::string what = describe(step);
  if (step.dst == BufferId::scratch) {
    step.dst = BufferId::output;
    step.dst_slot = 0;
  } else {
    step.dst = BufferId::scratch;
    step.dst_slot = static_cast<std::uint16_t>(program.slots++);
  }
  return fmt::format("step {} receives into the wrong buffer: {}", at, what);
}

constexpr Mutation mutations[] = {
    {messages, drop_message},
    {messages, repeat_message},
    {messages, redirect},
    {data_messages, shift_one_end},
    {data_messages, shift_both_ends},
    {data_messages, lengthen},
    {data_messages, shorten_both_ends},
    {exchangeable, exchange_messages},
    {data_recvs, recv_into_wrong_buffer},
};

}  // namespace

std::span<const Mutation> message_mutations() noexcept { return mutations; }

}  // namespace commtune
