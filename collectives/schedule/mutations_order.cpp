#include <algorithm>
#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/mutations.hpp"
#include "collectives/schedule/verify_passes.hpp"

// Faults in the order of steps. An edge is a fault to lose only if both its ends touch the same
// data and no other path connects them; a barrier's edges carry no data and are left alone.
namespace commtune {
namespace {

using Candidates = std::vector<std::uint32_t>;

StepId source_of(const Schedule& schedule, std::uint32_t edge) {
  const auto& begin = schedule.first_successor;
  return static_cast<StepId>(std::upper_bound(begin.begin(), begin.end(), edge) - begin.begin() -
                             1);
}

bool another_path(const Schedule& schedule, StepId from, StepId to) {
  std::vector<bool> reached(schedule.steps.size(), false);
  for (const StepId next : schedule.successors_of(from)) {
    if (next != to) reached[next] = true;
  }
  for (StepId step = from + 1; step < to; ++step) {
    if (!reached[step]) continue;
    for (const StepId next : schedule.successors_of(step)) reached[next] = true;
  }
  return reached[to];
}

template <class Keep>
Candidates edges_where(const Victim& victim, Keep keep) {
  const Schedule& program = victim.program();
  Candidates found;
  for (StepId from = 0; from < victim.steps(); ++from) {
    for (auto edge = program.first_successor[from]; edge < program.first_successor[from + 1];
         ++edge) {
      if (keep(from, program.successors[edge])) found.push_back(edge);
    }
  }
  return found;
}

/// Edges between two data steps that touch the same place. Others hold a message of several runs
/// together, come from a fence or a limit of messages in flight, or from storage shared in place.
Candidates needed_edges(const Victim& victim) {
  const Schedule& program = victim.program();
  return edges_where(victim, [&](StepId from, StepId to) {
    return conflicts(program.steps[from], program.steps[to]) && !program.steps[to].joined &&
           !another_path(program, from, to);
  });
}

/// Additions to one sum are left out: where both operands are there, they may trade places.
Candidates feeding_edges(const Victim& victim) {
  const Schedule& program = victim.program();
  return edges_where(victim, [&](StepId from, StepId to) {
    const Step &first = program.steps[from], &second = program.steps[to];
    const bool one_sum = first.kind == StepKind::reduce && second.kind == StepKind::reduce &&
                         first.dst == second.dst && first.dst_slot == second.dst_slot;
    return feeds(first, second) && !one_sum;
  });
}

Candidates all_edges(const Victim& victim) {
  return edges_where(victim, [](StepId, StepId) { return true; });
}

std::string drop_edge(const Victim& victim, std::uint32_t edge, Dice&) {
  Schedule& program = victim.program();
  const StepId from = source_of(program, edge), to = program.successors[edge];
  auto edges = edges_of(program);
  edges.erase(std::find(edges.begin(), edges.end(), std::pair{from, to}));
  set_edges(program, edges);
  return fmt::format("dropped edge {}->{}: {}", from, to, describe(program.steps[to]));
}

/// The consumer takes its producer's place in the program, edges stay.
std::string consume_before_producing(const Victim& victim, std::uint32_t edge, Dice&) {
  Schedule& program = victim.program();
  const StepId from = source_of(program, edge), to = program.successors[edge];
  std::swap(program.steps[from], program.steps[to]);
  return fmt::format("exchanged steps {} and {}: {}", from, to, describe(program.steps[from]));
}

std::string reverse_edge(const Victim& victim, std::uint32_t edge, Dice&) {
  Schedule& program = victim.program();
  const StepId from = source_of(program, edge), to = program.successors[edge];
  auto edges = edges_of(program);
  *std::find(edges.begin(), edges.end(), std::pair{from, to}) = {to, from};
  set_edges(program, edges);
  return fmt::format("reversed edge {}->{}", from, to);
}

std::string miscount_predecessors(const Victim& victim, std::uint32_t edge, Dice&) {
  Schedule& program = victim.program();
  const StepId to = program.successors[edge];
  --program.in_degrees[to];
  return fmt::format("step {} waits for one step too few", to);
}

constexpr Mutation mutations[] = {
    {needed_edges, drop_edge},
    {feeding_edges, consume_before_producing},
    {all_edges, reverse_edge},
    {all_edges, miscount_predecessors},
};

}  // namespace

std::span<const Mutation> order_mutations() noexcept { return mutations; }

}  // namespace commtune
