#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/verify_passes.hpp"

namespace commtune {
namespace {

constexpr StepId nobody = 0xffffffff;

/// Walks one rank's program in order and demands a path of edges for every pair of conflicting
/// accesses. It is enough to look at the last writer of a cell and its readers since then: earlier
/// accesses are ordered before those by the same rule.
class HazardCheck {
 public:
  explicit HazardCheck(const VerifyInput& input) : input_(input) {}

  std::optional<Violation> run(Rank rank) {
    rank_ = rank;
    schedule_ = &input_.schedules[static_cast<std::size_t>(rank)];
    const Storage storage(schedule_->space, input_.in_place);
    cells_.assign(storage.cells() + schedule_->slots, Cell{});
    slot_runs_.assign(schedule_->slots, {});
    readers_.clear();
    invert_edges();
    stamp_.assign(schedule_->steps.size(), nobody);
    seen_.assign(schedule_->steps.size(), nobody);
    for (StepId id = 0; id < schedule_->steps.size(); ++id) {
      if (auto found = visit(id, storage)) return found;
    }
    return std::nullopt;
  }

 private:
  struct Cell {
    StepId writer = nobody;
    std::uint32_t readers = nobody;  ///< head of a list in readers_
  };
  struct Reader {
    StepId step;
    std::uint32_t next;
  };

  std::optional<Violation> visit(StepId id, const Storage& storage) {
    const Step& step = schedule_->steps[id];
    for (std::uint32_t i = before_begin_[id]; i < before_begin_[id + 1]; ++i) {
      stamp_[before_[i]] = id;
    }
    std::optional<Violation> found;
    for_each_access(step, [&](BufferId buffer, std::uint16_t slot, bool write) {
      if (found) return;
      if (buffer == BufferId::scratch) {
        found = visit_slot(id, slot, write);
        if (!found) found = visit_cell(id, storage.cells() + slot, write);
        return;
      }
      for (std::uint32_t i = 0; i < step.count && !found; ++i) {
        found = visit_cell(id, storage.cell(buffer, step.first + i), write);
      }
    });
    return found;
  }

  std::optional<Violation> visit_slot(StepId id, std::uint16_t slot, bool write) {
    const Step& step = schedule_->steps[id];
    auto& held = slot_runs_[slot];
    if (write) {
      held = {step.first, step.count};
      return std::nullopt;
    }
    if (held.holds(step.first, step.count)) return std::nullopt;
    std::string state = "was never written";
    if (held.count != 0) {
      state = fmt::format("holds blocks {}..{}", held.first, held.first + held.count - 1);
    }
    return violation(Violation::Kind::unwritten, id,
                     fmt::format("reads blocks {}..{} but scratch[{}] {}", step.first,
                                 step.first + step.count - 1, slot, state));
  }

  std::optional<Violation> visit_cell(StepId id, std::uint32_t index, bool write) {
    Cell& cell = cells_[index];
    // Readers come after the writer, so a write after them comes after it too.
    const bool follows_readers = write && cell.readers != nobody;
    if (!follows_readers && cell.writer != nobody && cell.writer != id &&
        !ordered(cell.writer, id)) {
      return race(cell.writer, id,
                  write ? "overwrites what that step writes" : "reads what that step writes");
    }
    if (!write) {
      readers_.push_back({id, cell.readers});
      cell.readers = static_cast<std::uint32_t>(readers_.size() - 1);
      return std::nullopt;
    }
    for (std::uint32_t i = cell.readers; i != nobody; i = readers_[i].next) {
      if (readers_[i].step != id && !ordered(readers_[i].step, id)) {
        return race(readers_[i].step, id, "overwrites what that step reads");
      }
    }
    cell = {id, nobody};
    return std::nullopt;
  }

  /// Whether edges lead from `from` to `to`. Steps known to precede `to` carry its stamp.
  bool ordered(StepId from, StepId to) {
    if (stamp_[from] == to) return true;
    pending_.assign(before_.begin() + before_begin_[to], before_.begin() + before_begin_[to + 1]);
    while (!pending_.empty()) {
      const StepId step = pending_.back();
      pending_.pop_back();
      if (seen_[step] == to) continue;
      seen_[step] = to;
      stamp_[step] = to;
      pending_.insert(pending_.end(), before_.begin() + before_begin_[step],
                      before_.begin() + before_begin_[step + 1]);
    }
    return stamp_[from] == to;
  }

  void invert_edges() {
    const std::size_t steps = schedule_->steps.size();
    before_begin_.assign(steps + 1, 0);
    for (std::size_t i = 0; i < steps; ++i) {
      before_begin_[i + 1] = before_begin_[i] + schedule_->in_degrees[i];
    }
    before_.resize(schedule_->successors.size());
    next_.assign(before_begin_.begin(), before_begin_.end() - 1);
    for (StepId from = 0; from < steps; ++from) {
      for (const StepId to : schedule_->successors_of(from)) before_[next_[to]++] = from;
    }
  }

  Violation violation(Violation::Kind kind, StepId id, const std::string& detail) const {
    return {
        kind, rank_, id,
        fmt::format("rank {} step {}: {}: {}", rank_, id, describe(schedule_->steps[id]), detail)};
  }

  Violation race(StepId earlier, StepId id, std::string_view conflict) const {
    return violation(Violation::Kind::race, id,
                     fmt::format("no dependency orders it after step {} ({}), and it {}", earlier,
                                 describe(schedule_->steps[earlier]), conflict));
  }

  const VerifyInput& input_;
  Rank rank_ = 0;
  const Schedule* schedule_ = nullptr;
  std::vector<Cell> cells_;
  std::vector<BlockSpace::Range> slot_runs_;
  std::vector<Reader> readers_;
  std::vector<std::uint32_t> before_begin_, next_;
  std::vector<StepId> before_, stamp_, seen_, pending_;
};

}  // namespace

std::optional<Violation> check_hazards(const VerifyInput& input) {
  HazardCheck check(input);
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    if (auto found = check.run(static_cast<Rank>(r))) return found;
  }
  return std::nullopt;
}

}  // namespace commtune
