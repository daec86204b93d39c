#include "collectives/schedule/export.hpp"

#include <fmt/format.h>
#include <iterator>

#include "collectives/schedule/matching.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

std::string place(BufferId buffer, std::uint16_t slot) {
  switch (buffer) {
    case BufferId::input:
      return "input";
    case BufferId::output:
      return "output";
    case BufferId::scratch:
      return fmt::format("scratch[{}]", slot);
  }
  return fmt::format("buffer {}", static_cast<int>(buffer));
}

std::string blocks(const Step& step) {
  if (step.count == 0) return "no blocks";
  return fmt::format("blocks {}..{}{}", step.first, std::uint64_t{step.first} + step.count - 1,
                     step.joined ? ", with the next step" : "");
}

}  // namespace

std::string describe(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      if (step.count == 0) return fmt::format("signal to {}", step.peer);
      return fmt::format("send to {} from {} {}", step.peer, place(step.a, step.a_slot),
                         blocks(step));
    case StepKind::recv:
      if (step.count == 0) return fmt::format("wait for signal from {}", step.peer);
      return fmt::format("recv from {} into {} {}", step.peer, place(step.dst, step.dst_slot),
                         blocks(step));
    case StepKind::copy:
      return fmt::format("copy {} into {} {}", place(step.a, step.a_slot),
                         place(step.dst, step.dst_slot), blocks(step));
    case StepKind::reduce:
      return fmt::format("reduce {} and {} into {} {}", place(step.a, step.a_slot),
                         place(step.b, step.b_slot), place(step.dst, step.dst_slot), blocks(step));
  }
  return fmt::format("unknown kind {}", static_cast<int>(step.kind));
}

std::string to_text(const Schedule& schedule, Rank rank) {
  std::vector<std::string> after(schedule.steps.size());
  for (StepId from = 0; from < schedule.steps.size(); ++from) {
    for (const StepId to : schedule.successors_of(from)) {
      after[to] += fmt::format("{}{}", after[to].empty() ? " after " : ",", from);
    }
  }
  std::string text;
  for (StepId i = 0; i < schedule.steps.size(); ++i) {
    text += fmt::format("rank {} step {}: {}{}\n", rank, i, describe(schedule.steps[i]), after[i]);
  }
  return text;
}

std::string to_graphviz(const std::vector<Schedule>& schedules, std::string_view title) {
  Matching matching;
  if (const auto violation = match_messages(schedules, matching)) {
    fail(Errc::usage, "export: {}", violation->detail);
  }
  std::string text = "digraph schedule {\n";
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  label=\"{}\";\n  rankdir=TB;\n  node [shape=box];\n", title);
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const Schedule& schedule = schedules[r];
    fmt::format_to(out, "  subgraph cluster_{} {{\n    label=\"rank {}\";\n", r, r);
    for (StepId i = 0; i < schedule.steps.size(); ++i) {
      fmt::format_to(out, "    r{}s{} [label=\"{}: {}\"];\n", r, i, i, describe(schedule.steps[i]));
    }
    for (StepId i = 0; i < schedule.steps.size(); ++i) {
      for (const StepId to : schedule.successors_of(i)) {
        fmt::format_to(out, "    r{}s{} -> r{}s{};\n", r, i, r, to);
      }
    }
    text += "  }\n";
  }
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    for (StepId i = 0; i < schedules[r].steps.size(); ++i) {
      if (schedules[r].steps[i].kind != StepKind::send) continue;
      const std::uint32_t partner = matching.partner[matching.begin[r] + i];
      const auto peer = static_cast<std::size_t>(matching.rank_of(partner));
      fmt::format_to(out, "  r{}s{} -> r{}s{} [style=dashed, constraint=false];\n", r, i, peer,
                     partner - matching.begin[peer]);
    }
  }
  text += "}\n";
  return text;
}

}  // namespace commtune
