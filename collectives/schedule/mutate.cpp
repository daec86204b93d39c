#include "collectives/schedule/mutate.hpp"

#include <fmt/format.h>

#include "collectives/schedule/mutations.hpp"
#include "collectives/schedule/symbols.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/schedule/verify_passes.hpp"

namespace commtune {

std::size_t Dice::below(std::size_t bound) { return scramble(state_++) % bound; }

Step& Victim::other_end(StepId step) const {
  const std::uint32_t partner =
      matching.partner[matching.begin[static_cast<std::size_t>(rank)] + step];
  const auto peer = static_cast<std::size_t>(program().steps[step].peer);
  return schedules[peer].steps[partner - matching.begin[peer]];
}

std::vector<BlockSpace::Range> slots_before(const Schedule& schedule, StepId step) {
  std::vector<BlockSpace::Range> held(schedule.slots);
  for (StepId i = 0; i < step; ++i) {
    const Step& what = schedule.steps[i];
    for_each_access(what, [&](BufferId buffer, std::uint16_t slot, bool write) {
      if (write && buffer == BufferId::scratch) held[slot] = {what.first, what.count};
    });
  }
  return held;
}

namespace {

/// Whether both steps touch the same place: `first` writes it and `second` reads it, or, with
/// `any`, one of them writes it.
bool meet(const Step& first, const Step& second, bool any) {
  bool found = false;
  const bool overlap =
      first.first < second.first + second.count && second.first < first.first + first.count;
  for_each_access(first, [&](BufferId a, std::uint16_t a_slot, bool a_written) {
    for_each_access(second, [&](BufferId b, std::uint16_t b_slot, bool b_written) {
      const bool conflict = any ? a_written || b_written : a_written && !b_written;
      if (conflict && a == b && (a == BufferId::scratch ? a_slot == b_slot : overlap)) found = true;
    });
  });
  return found;
}

}  // namespace

bool feeds(const Step& writer, const Step& reader) { return meet(writer, reader, false); }
bool conflicts(const Step& first, const Step& second) { return meet(first, second, true); }

std::vector<bool> useful_steps(const Schedule& schedule) {
  std::vector<bool> useful(schedule.steps.size(), false);
  for (auto i = static_cast<StepId>(schedule.steps.size()); i-- > 0;) {
    const Step& step = schedule.steps[i];
    useful[i] = step.kind == StepKind::send || step.dst != BufferId::scratch;
    for (const StepId next : schedule.successors_of(i)) {
      useful[i] = useful[i] || (useful[next] && feeds(step, schedule.steps[next]));
    }
  }
  return useful;
}

bool own_output(const BlockSpace& space, std::uint32_t first, std::uint32_t count) {
  if (space.input == space.output) return false;
  for (std::uint32_t block = first; block < first + count; ++block) {
    if (space.input.holds(block, 1) && space.output.holds(block, 1)) return true;
  }
  return false;
}

std::vector<std::pair<StepId, StepId>> edges_of(const Schedule& schedule) {
  std::vector<std::pair<StepId, StepId>> edges;
  for (StepId from = 0; from < schedule.steps.size(); ++from) {
    for (const StepId to : schedule.successors_of(from)) edges.emplace_back(from, to);
  }
  return edges;
}

void drop_step(Schedule& schedule, StepId step) {
  std::vector<std::pair<StepId, StepId>> kept;
  const auto renumber = [step](StepId id) { return id > step ? id - 1 : id; };
  for (const auto& [from, to] : edges_of(schedule)) {
    if (from != step && to != step) kept.emplace_back(renumber(from), renumber(to));
  }
  schedule.steps.erase(schedule.steps.begin() + step);
  set_edges(schedule, kept);
}

void repeat_step(Schedule& schedule, StepId step) {
  std::vector<std::pair<StepId, StepId>> edges{{step, step + 1}};
  const auto renumber = [step](StepId id) { return id > step ? id + 1 : id; };
  for (const auto& [from, to] : edges_of(schedule)) {
    edges.emplace_back(renumber(from), renumber(to));
    if (from == step) edges.emplace_back(step + 1, renumber(to));
    if (to == step) edges.emplace_back(from, step + 1);
  }
  schedule.steps.insert(schedule.steps.begin() + step, schedule.steps[step]);
  set_edges(schedule, edges);
}

std::string mutate(std::vector<Schedule>& schedules, std::uint64_t seed) {
  Matching matching;
  if (schedules.empty() || match_messages(schedules, matching)) return {};
  Dice dice(scramble(seed));
  const Victim victim{schedules, static_cast<Rank>(dice.below(schedules.size())), matching};
  const auto kinds = {message_mutations(), local_mutations(), order_mutations()};
  std::size_t total = 0;
  for (const auto& group : kinds) total += group.size();
  std::size_t drawn = dice.below(total);
  for (const auto& group : kinds) {
    if (drawn >= group.size()) {
      drawn -= group.size();
      continue;
    }
    const Mutation& mutation = group[drawn];
    const auto candidates = mutation.candidates(victim);
    if (candidates.empty()) return {};
    const std::string done =
        mutation.apply(victim, candidates[dice.below(candidates.size())], dice);
    return done.empty() ? done : fmt::format("rank {} {}", victim.rank, done);
  }
  return {};
}

MutationReport mutation_test(const Algorithm& algorithm, Rank size, std::size_t count,
                             std::uint64_t seed) {
  MutationReport report;
  const auto cases = verify_cases(algorithm, size);
  if (cases.empty()) return report;
  std::vector<std::vector<Schedule>> originals;
  originals.reserve(cases.size());
  for (const VerifyCase& task : cases) {
    originals.push_back(generate_all(algorithm, task.shape, task.params));
  }
  // A draw may not apply (a program without scratch has no wrong slot), so allow for several.
  constexpr std::size_t draws_per_fault = 64;
  for (std::size_t draw = 0; draw < count * draws_per_fault && report.applied < count; ++draw) {
    const std::size_t which = draw % cases.size();
    std::vector<Schedule> schedules = originals[which];
    const std::string done = mutate(schedules, seed + draw);
    if (done.empty()) continue;
    ++report.applied;
    const Shape& shape = cases[which].shape;
    if (verify(algorithm.collective, shape.root, shape.in_place, schedules)) {
      ++report.rejected;
      continue;
    }
    report.survivors.push_back(
        fmt::format("{}/{} P={} root={}{}{} seed {}: {}", name(algorithm.collective),
                    algorithm.name, size, shape.root, shape.in_place ? " in place" : "",
                    describe(cases[which].params, algorithm.tunables), seed + draw, done));
  }
  return report;
}

}  // namespace commtune
