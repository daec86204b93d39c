#include "collectives/runtime/plan_analysis.hpp"

#include <algorithm>

namespace commtune {
namespace {

bool is_data_recv(const Step& step) { return step.kind == StepKind::recv && step.count > 0; }

bool same_place(BufferId buffer, std::uint16_t slot, const Step& writer) {
  return buffer == writer.dst && (buffer != BufferId::scratch || slot == writer.dst_slot);
}

}  // namespace

PlanAnalysis::PlanAnalysis(const Schedule& schedule, ViewUse views)
    : wrote_a(schedule.steps.size(), none),
      wrote_b(schedule.steps.size(), none),
      elided(schedule.steps.size(), false),
      fused(schedule.steps.size(), none),
      taken(schedule.steps.size(), false) {
  find_writers(schedule);
  if (views == ViewUse::none) return;
  find_elided(schedule);
  if (views == ViewUse::full) {
    find_fused(schedule);
  } else {
    keep_cautious(schedule);
  }
}

void PlanAnalysis::find_writers(const Schedule& schedule) {
  std::vector<StepId> writer(schedule.slots, none);
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (step.count == 0) continue;
    if (step.kind != StepKind::recv && step.a == BufferId::scratch)
      wrote_a[id] = writer[step.a_slot];
    if (step.kind == StepKind::reduce && step.b == BufferId::scratch) {
      wrote_b[id] = writer[step.b_slot];
    }
    if (step.kind != StepKind::send && step.dst == BufferId::scratch) writer[step.dst_slot] = id;
  }
}

void PlanAnalysis::find_elided(const Schedule& schedule) {
  const auto steps = static_cast<StepId>(schedule.steps.size());
  std::vector<std::size_t> arrivals(steps);  // messages that a program receives before each step
  std::vector<bool> read(steps, false);
  std::size_t messages = 0;
  for (StepId id = 0; id < steps; ++id) {
    const Step& step = schedule.steps[id];
    arrivals[id] = messages;
    if (step.kind == StepKind::recv && !step.joined) ++messages;
    elided[id] = is_data_recv(step) && step.dst == BufferId::scratch;
    // A message of several runs is packed by a local step; a plain send needs memory of its own.
    const bool local = step.kind != StepKind::send || in_group(schedule, id);
    for (const StepId writer : {wrote_a[id], wrote_b[id]}) {
      if (writer == none) continue;
      read[writer] = true;
      if (!local || arrivals[id] - arrivals[writer] > most_held) elided[writer] = false;
    }
  }
  for (StepId id = 0; id < steps; ++id) elided[id] = elided[id] && read[id];
}

void PlanAnalysis::keep_cautious(const Schedule& schedule) {
  while (drop_circular(schedule)) {
  }
}

/// One pass with the present choice; true when it was changed. What lands after all waits for more
/// than what does not, so the passes end when nothing changes.
bool PlanAnalysis::drop_circular(const Schedule& schedule) {
  const auto steps = static_cast<StepId>(schedule.steps.size());
  struct Past {
    bool sends = false;           // some send must complete first
    std::int64_t last_recv = -1;  // the last recv that must arrive first
  };
  std::vector<Past> past(steps);
  bool changed = false;
  for (StepId id = 0; id < steps; ++id) {
    const Step& step = schedule.steps[id];
    for (const StepId writer : {wrote_a[id], wrote_b[id]}) {
      if (writer == none || !elided[writer]) continue;
      if (!past[id].sends && past[id].last_recv <= writer) continue;
      elided[writer] = false;
      changed = true;
    }
    Past mine = past[id];
    if (step.kind == StepKind::send) mine.sends = true;
    if (step.kind == StepKind::recv) {
      if (elided[id]) mine = {};
      mine.last_recv = std::max(mine.last_recv, std::int64_t{id});
    }
    for (const StepId to : schedule.successors_of(id)) {
      past[to].sends = past[to].sends || mine.sends;
      past[to].last_recv = std::max(past[to].last_recv, mine.last_recv);
    }
  }
  return changed;
}

void PlanAnalysis::find_fused(const Schedule& schedule) {
  std::vector<std::size_t> sources(schedule.steps.size(), 2);
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    if (schedule.steps[id].kind != StepKind::reduce) continue;
    StepId next = none;
    bool single = true;
    for (const StepId to : schedule.successors_of(id)) {
      if (elided[to]) continue;  // it writes nothing, so it need not wait
      single = single && next == none;
      next = to;
    }
    if (!single || next == none || fused[next] != none || !chains(schedule, id, next)) continue;
    if (sources[id] + 1 > most_sources) continue;
    sources[next] = sources[id] + 1;
    fused[next] = id;
    taken[id] = true;
  }
}

/// Whether `second`, the only step that waits for `first`, continues its sum.
bool PlanAnalysis::chains(const Schedule& schedule, StepId first, StepId second) const {
  const Step& x = schedule.steps[first];
  const Step& y = schedule.steps[second];
  if (y.kind != StepKind::reduce || y.first != x.first || y.count != x.count) return false;
  const bool reads_a = same_place(y.a, y.a_slot, x), reads_b = same_place(y.b, y.b_slot, x);
  if (reads_a == reads_b) return false;
  return x.dst == BufferId::scratch || same_place(y.dst, y.dst_slot, x);
}

}  // namespace commtune
