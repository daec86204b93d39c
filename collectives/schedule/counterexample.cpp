#include "collectives/schedule/counterexample.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/provenance.hpp"
#include "collectives/schedule/verify_passes.hpp"

namespace commtune {
namespace {

constexpr std::size_t most_lines = 24;

class Story {
 public:
  Story(const VerifyInput& input, const Violation& violation)
      : input_(input), violation_(violation) {}

  std::string tell(std::string_view title) {
    text_ = fmt::format("{}\n{}: {}\n", title, name(violation_.kind), violation_.detail);
    switch (violation_.kind) {
      case Violation::Kind::malformed:
      case Violation::Kind::unmatched:
      case Violation::Kind::size_mismatch:
      case Violation::Kind::race:
        break;
      case Violation::Kind::deadlock:
        tell_circle();
        break;
      case Violation::Kind::unwritten:
      case Violation::Kind::wrong_value:
        if (input_.collective == Collective::barrier) break;
        if (violation_.block != Violation::no_block) tell_value();
        break;
    }
    tell_program(violation_.rank, violation_.step);
    if (violation_.kind == Violation::Kind::size_mismatch) tell_other_end();
    return std::move(text_);
  }

 private:
  const Schedule& program(Rank rank) const {
    return input_.schedules[static_cast<std::size_t>(rank)];
  }
  std::string line(Rank rank, StepId step) const {
    return fmt::format("rank {} step {}: {}", rank, step, describe(program(rank).steps[step]));
  }
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void tell_program(Rank rank, StepId step);
  void tell_other_end();
  void tell_circle();
  void tell_value();
  void tell_history(Provenance& provenance, Rank rank, std::uint32_t value);
  std::string ranks_of(const Provenance::Terms& terms, std::uint32_t block) const;

  const VerifyInput& input_;
  const Violation& violation_;
  std::string text_;
};

void Story::tell_program(Rank rank, StepId step) {
  constexpr StepId around = 4;
  const auto& steps = program(rank).steps;
  const auto end = static_cast<StepId>(steps.size());
  if (end == 0) return say("rank {} has no steps", rank);
  const StepId first = step > around ? std::min(step - around, end - 1) : 0;
  const StepId last = std::min<StepId>(end, step + around + 1);
  say("program of rank {}, steps {}..{} of {}:", rank, first, last - 1, end);
  for (StepId i = first; i < last; ++i) {
    std::string after;
    for (StepId from = 0; from < i; ++from) {
      const auto successors = program(rank).successors_of(from);
      if (std::find(successors.begin(), successors.end(), i) == successors.end()) continue;
      after += fmt::format("{}{}", after.empty() ? " after " : ",", from);
    }
    say("{} step {}: {}{}", i == step ? '>' : ' ', i, describe(steps[i]), after);
  }
}

void Story::tell_other_end() {
  Matching matching;
  if (match_messages(input_.schedules, matching)) return;
  const std::uint32_t partner =
      matching.partner[matching.begin[static_cast<std::size_t>(violation_.rank)] + violation_.step];
  const Rank other = matching.rank_of(partner);
  tell_program(other, partner - matching.begin[static_cast<std::size_t>(other)]);
}

class Silent final : public Rehearsal::Visitor {
  bool local(Rank, StepId) override { return true; }
  bool message(Rank, StepId, Rank, StepId) override { return true; }
};

void Story::tell_circle() {
  Matching matching;
  if (match_messages(input_.schedules, matching)) return;
  Rehearsal rehearsal(input_.schedules, matching);
  Silent visitor;
  if (rehearsal.run(visitor) != Rehearsal::End::stuck) return;
  // Every step that is not done waits for another one, so following them ends in a circle.
  std::vector<Rehearsal::Wait> path;
  std::set<std::pair<Rank, StepId>> seen;
  Rank rank = violation_.rank;
  StepId step = violation_.step;
  while (seen.insert({rank, step}).second) {
    path.push_back(rehearsal.waits_for(rank, step));
    rank = path.back().rank;
    step = path.back().step;
  }
  Rank at_rank = violation_.rank;
  StepId at_step = violation_.step;
  bool inside = false;
  say("the circle of steps that wait for each other:");
  std::size_t lines = 0;
  for (const auto& wait : path) {
    inside = inside || (at_rank == rank && at_step == step);
    if (inside && ++lines <= most_lines) {
      const auto* const why = wait.reason == Rehearsal::Wait::Reason::dependency ? "a dependency"
                              : wait.reason == Rehearsal::Wait::Reason::earlier_message
                                  ? "an earlier message in the same direction"
                                  : "the other end of the message";
      say("  {}\n    waits for rank {} step {}, {}", line(at_rank, at_step), wait.rank, wait.step,
          why);
    }
    at_rank = wait.rank;
    at_step = wait.step;
  }
  if (lines > most_lines) say("  ... and {} more", lines - most_lines);
}

/// "0..2,5 twice,7": whose inputs are contained. Those of other blocks are named with their block.
std::string Story::ranks_of(const Provenance::Terms& terms, std::uint32_t block) const {
  std::string text;
  const auto join = [&](const std::string& item) { text += (text.empty() ? "" : ",") + item; };
  for (auto term = terms.begin(); term != terms.end();) {
    const auto [rank, of] = term->first;
    const std::uint64_t times = term->second;
    auto next = std::next(term);
    Rank last = rank;
    while (next != terms.end() && next->first == std::pair{last + 1, of} && next->second == times) {
      ++last;
      ++next;
    }
    std::string item = last == rank ? fmt::format("{}", rank) : fmt::format("{}..{}", rank, last);
    if (times == 2) item += " twice";
    if (times > 2) item += fmt::format(" {} times", times);
    if (of != block) item += fmt::format(" (block {})", of);
    join(item);
    term = next;
  }
  return text.empty() ? "nothing" : "inputs of " + text;
}

void Story::tell_value() {
  Matching matching;
  if (match_messages(input_.schedules, matching)) return;
  Provenance provenance(input_, violation_.block);
  provenance.run(matching);
  const auto end = static_cast<StepId>(program(violation_.rank).steps.size());
  if (violation_.step != end) return;  // a step read nothing: the program tells
  const std::uint32_t got = provenance.output(violation_.rank, violation_.block);
  if (got == Provenance::nothing) return say("no step of rank {} writes it", violation_.rank);
  say("block {} of rank {}'s output holds the {}", violation_.block, violation_.rank,
      ranks_of(provenance.terms(got), violation_.block));
  tell_history(provenance, violation_.rank, got);
  if (input_.collective == Collective::allreduce && violation_.rank != 0) {
    tell_history(provenance, 0, provenance.output(0, violation_.block));
  }
}

void Story::tell_history(Provenance& provenance, Rank rank, std::uint32_t value) {
  const auto history = provenance.history(value);
  say("how it came there, on rank {}:", rank);
  const std::size_t skipped = history.size() > most_lines ? history.size() - most_lines : 0;
  if (skipped > 0) say("  ... {} earlier steps", skipped);
  for (std::size_t i = skipped; i < history.size(); ++i) {
    const auto& made = provenance.node(history[i]);
    say("  {} = {}", line(made.rank, made.step),
        ranks_of(provenance.terms(history[i]), violation_.block));
  }
}

}  // namespace

std::string counterexample(std::string_view title, Collective collective, Rank root, bool in_place,
                           const std::vector<Schedule>& schedules, const Violation& violation) {
  const VerifyInput input{collective, root, in_place, schedules};
  return Story(input, violation).tell(title);
}

}  // namespace commtune
