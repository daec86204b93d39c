#include "collectives/schedule/verify_rehearsal.hpp"

#include <algorithm>

namespace commtune {

Rehearsal::Rehearsal(const std::vector<Schedule>& schedules, const Matching& matching)
    : schedules_(schedules), matching_(matching) {}

void Rehearsal::reset() {
  waiting_.clear();
  waiting_.reserve(matching_.begin.back());
  heads_.resize(schedules_.size());
  for (std::size_t r = 0; r < schedules_.size(); ++r) {
    const auto& in_degrees = schedules_[r].in_degrees;
    waiting_.insert(waiting_.end(), in_degrees.begin(), in_degrees.end());
    const auto rank = static_cast<Rank>(r);
    heads_[r] = {next_of(rank, StepKind::send, 0), next_of(rank, StepKind::recv, 0)};
  }
  ready_.clear();
  completed_ = 0;
}

StepId Rehearsal::next_of(Rank rank, StepKind kind, StepId from) const {
  const auto& steps = program(rank).steps;
  while (from < steps.size() && steps[from].kind != kind) ++from;
  return from;
}

Rehearsal::Item Rehearsal::partner(Rank rank, StepId step) const {
  const Rank peer = step_of(rank, step).peer;
  return {peer,
          matching_.partner[global(rank, step)] - matching_.begin[static_cast<std::size_t>(peer)]};
}

StepId& Rehearsal::head(Rank rank, StepKind kind) {
  Heads& heads = heads_[static_cast<std::size_t>(rank)];
  return kind == StepKind::send ? heads.send : heads.recv;
}

/// Whether the message that begins with `step` is at the head of its direction and no step of it
/// waits for another one.
bool Rehearsal::posted(Rank rank, StepId step) const {
  const Heads& heads = heads_[static_cast<std::size_t>(rank)];
  const auto& steps = program(rank).steps;
  if (step != (steps[step].kind == StepKind::send ? heads.send : heads.recv)) return false;
  while (waiting_[global(rank, step)] == 0) {
    if (!steps[step].joined) return true;
    ++step;
  }
  return false;
}

/// Called when a step waits for no other one any more, or has moved to the head of its direction.
void Rehearsal::wake(Rank rank, StepId step) {
  const auto& steps = program(rank).steps;
  if (steps[step].kind == StepKind::copy || steps[step].kind == StepKind::reduce) {
    ready_.push_back({rank, step});
    return;
  }
  while (step > 0 && steps[step - 1].joined) --step;
  if (!posted(rank, step)) return;
  const Item other = partner(rank, step);
  if (!posted(other.rank, other.step)) return;
  ready_.push_back(steps[step].kind == StepKind::send ? Item{rank, step} : other);
}

void Rehearsal::advance(Rank rank, StepId step) {
  const StepKind kind = step_of(rank, step).kind;
  const StepId next = next_of(rank, kind, step + 1);
  head(rank, kind) = next;
  const auto& steps = program(rank).steps;
  if (next < steps.size() && waiting_[global(rank, next)] == 0) wake(rank, next);
}

void Rehearsal::complete(Rank rank, StepId step) {
  ++completed_;
  const std::uint32_t begin = global(rank, 0);
  for (const StepId successor : program(rank).successors_of(step)) {
    if (--waiting_[begin + successor] == 0) wake(rank, successor);
  }
}

Rehearsal::End Rehearsal::run(Visitor& visitor) {
  reset();
  for (std::size_t r = 0; r < schedules_.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    const auto& steps = schedules_[r].steps;
    for (StepId step = 0; step < steps.size(); ++step) {
      // A message becomes ready once both ends are posted: look at it from the sender's side.
      if (waiting_[global(rank, step)] != 0 || steps[step].kind == StepKind::recv) continue;
      const bool later_run = step > 0 && steps[step - 1].joined;
      if (!later_run) wake(rank, step);
    }
  }
  while (!ready_.empty()) {
    const Item item = ready_.back();
    ready_.pop_back();
    const auto& steps = program(item.rank).steps;
    if (steps[item.step].kind != StepKind::send) {
      if (!visitor.local(item.rank, item.step)) return End::stopped;
      complete(item.rank, item.step);
      continue;
    }
    const Item other = partner(item.rank, item.step);
    StepId runs = 1;
    while (steps[item.step + runs - 1].joined) ++runs;
    for (StepId i = 0; i < runs; ++i) {
      if (!visitor.message(item.rank, item.step + i, other.rank, other.step + i)) {
        return End::stopped;
      }
    }
    advance(item.rank, item.step + runs - 1);
    advance(other.rank, other.step + runs - 1);
    for (StepId i = 0; i < runs; ++i) {
      complete(item.rank, item.step + i);
      complete(other.rank, other.step + i);
    }
  }
  return completed_ == matching_.begin.back() ? End::finished : End::stuck;
}

bool Rehearsal::done(Rank rank, StepId step) const {
  const Heads& heads = heads_[static_cast<std::size_t>(rank)];
  switch (step_of(rank, step).kind) {
    case StepKind::send:
      return step < heads.send;
    case StepKind::recv:
      return step < heads.recv;
    case StepKind::copy:
    case StepKind::reduce:
      break;
  }
  return waiting_[global(rank, step)] == 0;
}

Rehearsal::Wait Rehearsal::waits_for(Rank rank, StepId step) const {
  const auto& steps = program(rank).steps;
  const bool message = steps[step].kind == StepKind::send || steps[step].kind == StepKind::recv;
  StepId begin = step, end = step;
  while (message && begin > 0 && steps[begin - 1].joined) --begin;
  while (message && steps[end].joined) ++end;
  for (StepId of = begin; of <= end; ++of) {
    for (StepId from = 0; waiting_[global(rank, of)] != 0 && from < of; ++from) {
      const auto successors = program(rank).successors_of(from);
      const bool leads_here =
          std::find(successors.begin(), successors.end(), of) != successors.end();
      if (leads_here && !done(rank, from)) return {Wait::Reason::dependency, rank, from};
    }
  }
  const Heads& heads = heads_[static_cast<std::size_t>(rank)];
  const StepId first = steps[step].kind == StepKind::send ? heads.send : heads.recv;
  if (first != begin) return {Wait::Reason::earlier_message, rank, first};
  const Item other = partner(rank, begin);
  return {Wait::Reason::other_end, other.rank, other.step};
}

}  // namespace commtune
