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
/// Messages of which the receiver needs every block: none lies where that block may have been
/// before.
Candidates needed_messages(const Victim& victim) {
  Candidates found;
  for (const StepId at : data_messages(victim)) {
    const Step& step = victim.program().steps[at];
    const bool sends = step.kind == StepKind::send;
    const Schedule& receiver =
        sends ? victim.schedules[static_cast<std::size_t>(step.peer)] : victim.program();
    const Step& recv = sends ? victim.other_end(at) : step;
    bool again = recv.dst == BufferId::output && own_output(receiver.space, recv.first, recv.count);
    for (const Step& other : receiver.steps) {
      const bool moves = other.kind == StepKind::recv || other.kind == StepKind::copy;
      const bool overlaps =
          other.first < recv.first + recv.count && recv.first < other.first + other.count;
      again = again || (&other != &recv && moves && overlaps && recv.dst == BufferId::output &&
                        other.dst == BufferId::output);
    }
    if (!again) found.push_back(at);
  }
  return found;
}

Candidates needed_recvs(const Victim& victim) {
  Candidates found;
  for (const StepId at : needed_messages(victim)) {
    if (victim.program().steps[at].kind == StepKind::recv) found.push_back(at);
  }
  return found;
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

/// Steps that another one of their message follows.
Candidates joined_steps(const Victim& victim) {
  return steps_where(victim, [](const Step& step) { return step.joined; });
}

/// The same where the two runs name different blocks; equal ones may be summed in either order.
Candidates joined_unequal_runs(const Victim& victim) {
  const auto& steps = victim.program().steps;
  Candidates found;
  for (const StepId at : joined_steps(victim)) {
    if (steps[at].first != steps[at + 1].first || steps[at].count != steps[at + 1].count) {
      found.push_back(at);
    }
  }
  return found;
}

/// Steps that could travel with the next one, but do not.
Candidates separate_pairs(const Victim& victim) {
  const auto& steps = victim.program().steps;
  Candidates found;
  for (StepId i = 0; i + 1 < victim.steps(); ++i) {
    if (!steps[i].joined && carries_data(steps[i]) && steps[i + 1].count > 0 &&
        steps[i].kind == steps[i + 1].kind && steps[i].peer == steps[i + 1].peer) {
      found.push_back(i);
    }
  }
  return found;
}

std::string part_message(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  step.joined = false;
  return fmt::format("step {} travels alone: {}", at, what);
}

std::string join_message(const Victim& victim, std::uint32_t at, Dice&) {
  Step& step = victim.program().steps[at];
  const std::string what = describe(step);
  step.joined = true;
  return fmt::format("step {} travels with the next one: {}", at, what);
}

std::string drop_run(const Victim& victim, std::uint32_t at, Dice& dice) {
  const StepId run = at + static_cast<StepId>(dice.below(2));
  auto& steps = victim.program().steps;
  const std::string what = describe(steps[run]);
  if (!steps[run].joined) steps[run - 1].joined = false;
  drop_step(victim.program(), run);
  return fmt::format("dropped step {}, a run of a message: {}", run, what);
}

std::string exchange_runs(const Victim& victim, std::uint32_t at, Dice&) {
  auto& steps = victim.program().steps;
  std::swap(steps[at], steps[at + 1]);
  std::swap(steps[at].joined, steps[at + 1].joined);
  return fmt::format("exchanged runs {} and {} of a message: {}", at, at + 1,
                     describe(steps[at + 1]));
}

constexpr Mutation mutations[] = {
    {messages, drop_message},
    {messages, repeat_message},
    {messages, redirect},
    {data_messages, shift_one_end},
    {needed_messages, shift_both_ends},
    {data_messages, lengthen},
    {needed_messages, shorten_both_ends},
    {exchangeable, exchange_messages},
    {needed_recvs, recv_into_wrong_buffer},
    {joined_steps, part_message},
    {separate_pairs, join_message},
    {joined_steps, drop_run},
    {joined_unequal_runs, exchange_runs},
};

}  // namespace

std::span<const Mutation> message_mutations() noexcept { return mutations; }

}  // namespace commtune
