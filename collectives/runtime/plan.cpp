#include "collectives/runtime/plan.hpp"

#include <algorithm>
#include <utility>

#include "collectives/runtime/plan_analysis.hpp"

namespace commtune {
namespace {

constexpr StepId none = PlanAnalysis::none;

/// Emits steps in program order and derives what they wait for from the places they touch.
class StepEmitter {
 public:
  StepEmitter(Plan& plan, const Storage& storage) : plan_(plan), storage_(storage) {
    data_.resize(storage.cells());
    slots_.resize(plan.slots);
  }

  StepId begin(StepKind kind, Rank peer) {
    PlanStep made{.kind = kind, .kept = true, .peer = peer};
    made.first_operand = static_cast<std::uint32_t>(plan_.operands.size());
    plan_.steps.push_back(made);
    return static_cast<StepId>(plan_.steps.size() - 1);
  }
  PlanStep& step() { return plan_.steps.back(); }

  void read(const Operand& from) {
    plan_.operands.push_back(from);
    if (from.view != Operand::none) {
      depends_.push_back(view_steps_[from.view]);
      ++plan_.view_readers[from.view];
      return;
    }
    for_each_cell(from.slice, [&](Cell& cell) {
      if (cell.writer != none) {
        depends_.push_back(cell.writer);
        plan_.steps[cell.writer].kept = false;
      }
      accesses_.push_back({&cell, false});
    });
  }
  void write(const Operand& into) {
    plan_.operands.push_back(into);
    for_each_cell(into.slice, [&](Cell& cell) {
      if (cell.writer != none) depends_.push_back(cell.writer);
      depends_.insert(depends_.end(), cell.readers.begin(), cell.readers.end());
      accesses_.push_back({&cell, true});
    });
  }
  void finish() {
    const auto id = static_cast<StepId>(plan_.steps.size() - 1);
    step().operands = static_cast<std::uint32_t>(plan_.operands.size()) - step().first_operand;
    for (const auto [cell, write] : accesses_) {
      if (!write) cell->readers.push_back(id);
    }
    for (const auto [cell, write] : accesses_) {
      if (!write) continue;
      cell->writer = id;
      cell->readers.clear();
    }
    for (const StepId before : depends_) {
      if (before != id) edges_.emplace_back(before, id);
    }
    depends_.clear();
    accesses_.clear();
  }

  std::uint32_t new_view(StepId recv) {
    view_steps_.push_back(recv);
    plan_.view_readers.push_back(0);
    return static_cast<std::uint32_t>(view_steps_.size() - 1);
  }
  std::uint16_t new_slot() {
    slots_.emplace_back();
    return static_cast<std::uint16_t>(plan_.slots++);
  }
  void add_edge(StepId from, StepId to) { edges_.emplace_back(from, to); }
  void set_graph() {
    Schedule graph;
    graph.steps.resize(plan_.steps.size());
    set_edges(graph, edges_);
    plan_.first_successor = std::move(graph.first_successor);
    plan_.successors = std::move(graph.successors);
    plan_.in_degrees = std::move(graph.in_degrees);
  }

 private:
  struct Cell {
    StepId writer = none;
    std::vector<StepId> readers;
  };
  struct Access {
    Cell* cell;
    bool write;
  };

  template <class Visit>
  void for_each_cell(const Slice& slice, Visit visit) {
    if (slice.buffer == BufferId::scratch) return visit(slots_[slice.slot]);
    for (std::uint32_t i = 0; i < slice.count; ++i) {
      visit(data_[storage_.cell(slice.buffer, slice.first + i)]);
    }
  }

  Plan& plan_;
  const Storage& storage_;
  std::vector<Cell> data_, slots_;
  std::vector<Access> accesses_;
  std::vector<StepId> depends_, view_steps_;
  std::vector<std::pair<StepId, StepId>> edges_;
};

class Planner {
 public:
  Planner(const Schedule& schedule, bool in_place, const Lowering& lowering)
      : schedule_(schedule),
        lowering_(lowering),
        analysis_(schedule, lowering.views),
        storage_(schedule.space, in_place),
        plan_{schedule.space, schedule.slots, {}, {}, {}, {}, {}, {}, {}},
        emit_(plan_, storage_),
        last_step_(schedule.steps.size(), none),
        view_of_(schedule.steps.size(), Operand::none),
        message_of_(schedule.steps.size(), 0),
        run_of_(schedule.steps.size(), 0) {}

  Plan run() {
    const auto steps = static_cast<StepId>(schedule_.steps.size());
    for (StepId id = 0; id < steps;) {
      StepId end = id;
      while (schedule_.steps[end].joined) ++end;
      ++end;
      lower(id, end);
      const auto mine = static_cast<StepId>(plan_.steps.size()) - 1;
      for (; id < end; ++id) last_step_[id] = mine;
    }
    keep_fences();
    emit_.set_graph();
    return std::move(plan_);
  }

 private:
  struct Staged {
    Slice source;
    std::uint16_t slot;
  };

  void lower(StepId id, StepId end) {
    switch (schedule_.steps[id].kind) {
      case StepKind::send:
        return lower_send(id, end);
      case StepKind::recv:
        return lower_recv(id, end);
      case StepKind::copy:
        emit_.begin(StepKind::copy, -1);
        emit_.read(operand_a(id));
        write(destination(id));
        return emit_.finish();
      case StepKind::reduce:
        if (!analysis_.taken[id]) lower_reduce(id);
        return;
    }
  }

  void lower_send(StepId id, StepId end) {
    const Step& what = schedule_.steps[id];
    Operand from = operand_a(id);
    const std::uint32_t first_run = add_runs(id, end);
    if (end - id > 1) {
      from = pack(id, end, first_run);
    } else if (what.count != 0 && is_private(what.a)) {
      from = stage(from.slice);
    }
    emit_.begin(StepKind::send, what.peer);
    set_runs(first_run, id, end);
    if (what.count != 0) emit_.read(from);
    emit_.finish();
  }

  /// Copies the runs of a message into a slot, one after another.
  Operand pack(StepId id, StepId end, std::uint32_t first_run) {
    const Slice slot{BufferId::scratch, emit_.new_slot(), 0, 0};
    emit_.begin(StepKind::copy, -1);
    for (StepId run = id; run < end; ++run) {
      emit_.read(operand_a(run));
      write(packed(slot, run, first_run, first_run + (run - id)));
    }
    emit_.finish();
    return packed(slot, id, first_run, first_run);
  }

  /// Copies a run of a private buffer to where peers can read it, once for all sends of it.
  Operand stage(const Slice& source) {
    for (const Staged& known : staged_) {
      if (known.source.buffer == source.buffer && known.source.first == source.first &&
          known.source.count == source.count) {
        return in_slot(known.slot, source);
      }
    }
    const Operand into = in_slot(emit_.new_slot(), source);
    emit_.begin(StepKind::copy, -1);
    emit_.read({.slice = source});
    write(into);
    emit_.finish();
    staged_.push_back({source, into.slice.slot});
    return into;
  }

  void lower_recv(StepId id, StepId end) {
    const Step& what = schedule_.steps[id];
    const std::uint32_t first_run = add_runs(id, end);
    const StepId mine = emit_.begin(StepKind::recv, what.peer);
    set_runs(first_run, id, end);
    if (what.count == 0) return emit_.finish();
    const bool several = end - id > 1;
    const bool copied = lowering_.views == ViewUse::full && (several || lowering_.copy_views);
    if (copied || all_elided(id, end)) {
      const std::uint32_t view = emit_.new_view(mine);
      emit_.step().view = view;
      emit_.finish();
      for (StepId run = id; run < end; ++run) {
        message_of_[run] = first_run;
        run_of_[run] = first_run + (run - id);
        if (analysis_.elided[run]) view_of_[run] = view;
      }
      return unpack(id, end, [&](StepId run) { return in_view(run, view); });
    }
    if (!several) {
      write(destination(id));
      return emit_.finish();
    }
    const Slice slot{BufferId::scratch, emit_.new_slot(), 0, 0};
    write(packed(slot, id, first_run, first_run));
    emit_.finish();
    unpack(id, end,
           [&](StepId run) { return packed(slot, run, first_run, first_run + (run - id)); });
  }

  bool all_elided(StepId id, StepId end) const {
    for (; id < end; ++id) {
      if (!analysis_.elided[id]) return false;
    }
    return true;
  }

  /// Copies those runs of a message that must land to their places.
  template <class Source>
  void unpack(StepId id, StepId end, Source source) {
    bool any = false;
    for (StepId run = id; run < end; ++run) {
      if (view_of_[run] != Operand::none) continue;
      if (!any) emit_.begin(StepKind::copy, -1);
      any = true;
      emit_.read(source(run));
      write(destination(run));
    }
    if (any) emit_.finish();
  }

  void lower_reduce(StepId id) {
    const StepId mine = emit_.begin(StepKind::reduce, -1);
    write(destination(id));
    read_sources(id);
    emit_.finish();
    for (StepId each = analysis_.fused[id]; each != none; each = analysis_.fused[each]) {
      last_step_[each] = mine;
    }
  }

  void read_sources(StepId id) {
    const StepId before = analysis_.fused[id];
    if (before == none) {
      emit_.read(operand_a(id));
      emit_.read(operand_b(id));
      return;
    }
    read_sources(before);
    const Step& what = schedule_.steps[id];
    const Step& sum = schedule_.steps[before];
    const bool sum_is_a =
        what.a == sum.dst && (what.a != BufferId::scratch || what.a_slot == sum.dst_slot);
    emit_.read(sum_is_a ? operand_b(id) : operand_a(id));
  }

  /// Order that no data asks for: that of signals.
  void keep_fences() {
    for (StepId from = 0; from < schedule_.steps.size(); ++from) {
      for (const StepId to : schedule_.successors_of(from)) {
        const bool signal = schedule_.steps[from].count == 0 || schedule_.steps[to].count == 0;
        if (signal) emit_.add_edge(last_step_[from], last_step_[to]);
      }
    }
  }

  bool is_private(BufferId buffer) const {
    return (buffer == BufferId::input && lowering_.private_input) ||
           (buffer == BufferId::output && lowering_.private_output);
  }
  void write(const Operand& into) {
    emit_.write(into);
    const Slice& slice = into.slice;
    if (slice.buffer == BufferId::scratch) return;
    const auto overlaps = [&](const Staged& known) {
      for (std::uint32_t i = 0; i < known.source.count; ++i) {
        const std::uint32_t cell = storage_.cell(known.source.buffer, known.source.first + i);
        for (std::uint32_t j = 0; j < slice.count; ++j) {
          if (storage_.cell(slice.buffer, slice.first + j) == cell) return true;
        }
      }
      return false;
    };
    staged_.erase(std::remove_if(staged_.begin(), staged_.end(), overlaps), staged_.end());
  }

  std::uint32_t add_runs(StepId id, StepId end) {
    const auto first = static_cast<std::uint32_t>(plan_.runs.size());
    for (StepId run = id; run < end; ++run) {
      const Step& step = schedule_.steps[run];
      if (step.count != 0) plan_.runs.push_back({BufferId::scratch, 0, step.first, step.count});
    }
    return first;
  }
  void set_runs(std::uint32_t first_run, StepId id, StepId end) {
    emit_.step().first_run = first_run;
    emit_.step().runs = schedule_.steps[id].count == 0 ? 0 : end - id;
  }

  static Operand in_slot(std::uint16_t slot, const Slice& blocks) {
    return {.slice = {BufferId::scratch, slot, blocks.first, blocks.count},
            .held_first = blocks.first};
  }
  Operand packed(const Slice& slot, StepId run, std::uint32_t message, std::uint32_t at) const {
    const Step& step = schedule_.steps[run];
    return {.slice = {BufferId::scratch, slot.slot, step.first, step.count},
            .held_first = step.first,
            .message = message,
            .run = at};
  }
  Operand in_view(StepId run, std::uint32_t view) const {
    const Step& step = schedule_.steps[run];
    return {.slice = {BufferId::scratch, 0, step.first, step.count},
            .held_first = step.first,
            .view = view,
            .message = message_of_[run],
            .run = run_of_[run]};
  }
  Operand destination(StepId id) const {
    const Step& step = schedule_.steps[id];
    return {.slice = {step.dst, step.dst_slot, step.first, step.count}, .held_first = step.first};
  }
  Operand operand_a(StepId id) const {
    const Step& step = schedule_.steps[id];
    return operand({step.a, step.a_slot, step.first, step.count}, analysis_.wrote_a[id]);
  }
  Operand operand_b(StepId id) const {
    const Step& step = schedule_.steps[id];
    return operand({step.b, step.b_slot, step.first, step.count}, analysis_.wrote_b[id]);
  }
  Operand operand(const Slice& slice, StepId writer) const {
    Operand made{.slice = slice};
    if (writer == none) return made;
    made.held_first = schedule_.steps[writer].first;
    if (view_of_[writer] == Operand::none) return made;
    made.view = view_of_[writer];
    made.message = message_of_[writer];
    made.run = run_of_[writer];
    return made;
  }

  const Schedule& schedule_;
  const Lowering lowering_;
  const PlanAnalysis analysis_;
  const Storage storage_;
  Plan plan_;
  StepEmitter emit_;
  std::vector<StepId> last_step_;
  std::vector<std::uint32_t> view_of_, message_of_, run_of_;
  std::vector<Staged> staged_;
};

}  // namespace

Plan make_plan(const Schedule& schedule, bool in_place, const Lowering& lowering) {
  return Planner(schedule, in_place, lowering).run();
}

}  // namespace commtune
