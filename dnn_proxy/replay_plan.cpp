#include "dnn_proxy/replay_plan.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "core/error.hpp"
#include "dnn_proxy/agreement.hpp"

namespace commtune {
namespace {

/// Everything in a program that moves data or waits.
std::vector<CommLine> communication_of(const std::vector<WorkloadOp>& program) {
  std::vector<CommLine> lines;
  std::map<std::uint64_t, std::size_t> names;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const WorkloadOp& op = program[i];
    if (op.op == WorkloadOpKind::compute || op.op == WorkloadOpKind::mark) continue;
    std::size_t id = 0;
    if (op.async_id) id = names.try_emplace(*op.async_id, names.size() + 1).first->second;
    std::string text = describe(op);
    if (rooted(op.kind) && op.op == WorkloadOpKind::collective)
      text += fmt::format(", root {}", op.root);
    if (op.async_id) text += fmt::format(", asynchronous #{}", id);
    lines.push_back({i, std::move(text)});
  }
  return lines;
}

class PlanBuilder {
 public:
  PlanBuilder(const PlanOptions& options, ReplayPlan& plan)
      : options_(options), plan_(plan), busy_(options.slots, false) {}

  void build(const std::vector<WorkloadOp>& program) {
    const bool steps = count_steps(program) > 0;
    in_step_ = !steps;
    for (const WorkloadOp& op : program) add(op);
    wait_for_all();
    if (!steps) {
      plan_.steps.push_back(std::move(step_));
    } else {
      plan_.after = std::move(step_.before);
    }
  }

 private:
  struct InFlight {
    std::uint64_t id;
    std::uint32_t call, slot;
  };

  std::vector<Action>& here() { return in_step_ ? step_.actions : step_.before; }

  void add(const WorkloadOp& op) {
    switch (op.op) {
      case WorkloadOpKind::compute:
        add_compute(op);
        break;
      case WorkloadOpKind::collective:
      case WorkloadOpKind::p2p:
        add_collective(op);
        break;
      case WorkloadOpKind::wait:
        for (std::size_t i = 0; i < in_flight_.size(); ++i)
          if (in_flight_[i].id == op.async_id) {
            wait_for(i);
            break;
          }
        break;
      case WorkloadOpKind::mark:
        add_mark(op);
        break;
    }
  }

  void add_compute(const WorkloadOp& op) {
    const std::int64_t recorded = op.duration_ns + (options_.gaps ? op.gap_ns : 0);
    const auto scaled =
        static_cast<std::int64_t>(static_cast<double>(recorded) * options_.compute_scale);
    const auto flops =
        static_cast<std::uint64_t>(static_cast<double>(op.flops) * options_.compute_scale);
    if (scaled > 0 || flops > 0) here().push_back({Action::Kind::compute, scaled, 0, 0, flops});
  }

  void add_collective(const WorkloadOp& op) {
    const CallSpec spec{*as_collective(op.kind), op.count, op.dtype, op.root};
    auto at = std::find(plan_.calls.begin(), plan_.calls.end(), spec);
    if (at == plan_.calls.end()) at = plan_.calls.insert(at, spec);
    const auto call = static_cast<std::uint32_t>(at - plan_.calls.begin());
    if (std::count(busy_.begin(), busy_.end(), false) == 0) {
      ++plan_.early_waits;
      wait_for(0);
    }
    const auto slot =
        static_cast<std::uint32_t>(std::find(busy_.begin(), busy_.end(), false) - busy_.begin());
    plan_.slots = std::max(plan_.slots, slot + 1);
    here().push_back({op.async_id ? Action::Kind::start : Action::Kind::run, 0, call, slot});
    if (!op.async_id) return;
    busy_[slot] = true;
    in_flight_.push_back({*op.async_id, call, slot});
  }

  void add_mark(const WorkloadOp& op) {
    if (op.mark == Mark::step_begin) {
      in_step_ = true;
      step_.number = op.step;
    } else if (op.mark == Mark::step_end) {
      wait_for_all();
      step_.recorded_ns = op.recorded_ns;
      plan_.steps.push_back(std::move(step_));
      step_ = {};
      in_step_ = false;
    }
  }

  void wait_for(std::size_t index) {
    const InFlight entry = in_flight_[index];
    here().push_back({Action::Kind::wait, 0, entry.call, entry.slot});
    busy_[entry.slot] = false;
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void wait_for_all() {
    while (!in_flight_.empty()) wait_for(0);
  }

  const PlanOptions& options_;
  ReplayPlan& plan_;
  StepPlan step_;
  std::vector<bool> busy_;
  std::deque<InFlight> in_flight_;
  bool in_step_ = false;
};

}  // namespace

std::uint64_t bytes_per_rank(const CallSpec& spec) noexcept {
  return spec.count * size_of(spec.dtype);
}

std::string describe(const CallSpec& spec) {
  if (spec.collective == Collective::barrier) return "barrier";
  return fmt::format("{} {} {}", name(spec.collective), with_thousands(spec.count),
                     name(spec.dtype));
}

void check_replayable(const Workload& workload, Rank size) {
  std::map<CommKind, std::pair<std::uint64_t, std::uint64_t>> missing;
  bool any = false;
  for (const auto& program : workload.programs) {
    for (const WorkloadOp& op : program) {
      if (op.op == WorkloadOpKind::compute) any = any || op.duration_ns > 0 || op.flops > 0;
      if (op.op != WorkloadOpKind::collective && op.op != WorkloadOpKind::p2p) continue;
      any = true;
      if (!as_collective(op.kind)) {
        ++missing[op.kind].first;
        missing[op.kind].second += bytes_of(op);
        continue;
      }
      const Group& group = workload.groups[op.group];
      require(group.ranks.size() == static_cast<std::size_t>(workload.world),
              "{}: \"{}\" runs in group \"{}\" of {} ranks of {}; only groups of all ranks can be "
              "replayed",
              workload.source, describe(op), group.name, group.ranks.size(), workload.world);
      require(op.root < size, "{}: \"{}\" has root {}, but {} ranks were asked for",
              workload.source, describe(op), op.root, size);
    }
  }
  std::string text;
  for (const auto& [kind, tally] : missing)
    text += fmt::format("{}{} ({} operations, {} bytes)", text.empty() ? "" : ", ", name(kind),
                        with_thousands(tally.first), with_thousands(tally.second));
  std::string replayable;
  for (const CommKind kind : all_comm_kinds()) {
    if (!as_collective(kind)) continue;
    replayable += fmt::format("{}{}", replayable.empty() ? "" : ", ", name(kind));
  }
  require(missing.empty(), "{}: this build has no executor for {}; it has {}", workload.source,
          text, replayable);
  require(any, "{}: nothing to replay", workload.source);
  const auto first = communication_of(workload.programs.front());
  for (std::size_t i = 1; i < workload.programs.size(); ++i)
    check_equal_lines(first, workload.ranks[0], communication_of(workload.programs[i]),
                      workload.ranks[i], workload.source);
}

ReplayPlan make_plan(const Workload& workload, Rank rank, const PlanOptions& options) {
  ReplayPlan plan;
  PlanBuilder(options, plan)
      .build(workload.programs[static_cast<std::size_t>(rank) % workload.programs.size()]);
  return plan;
}

std::string communication_of(const ReplayPlan& plan) {
  std::string text;
  const auto add = [&](const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::compute) continue;
      const CallSpec& call = plan.calls[action.call];
      text += fmt::format("{} {} root {} slot {}\n", static_cast<int>(action.kind), describe(call),
                          call.root, action.slot);
    }
  };
  for (const StepPlan& step : plan.steps) {
    add(step.before);
    text += "step\n";
    add(step.actions);
  }
  add(plan.after);
  return text;
}

}  // namespace commtune
