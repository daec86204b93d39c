#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/verify_passes.hpp"

namespace commtune {
namespace {

using Found = std::optional<Violation>;

class StructureCheck {
 public:
  StructureCheck(const VerifyInput& input, Rank rank)
      : input_(input), rank_(rank), schedule_(input.schedules[static_cast<std::size_t>(rank)]) {}

  Found run() const {
    if (auto found = check_space()) return found;
    for (StepId i = 0; i < schedule_.steps.size(); ++i) {
      if (auto found = check_step(i)) return found;
    }
    return check_edges();
  }

 private:
  Violation malformed(StepId step, const std::string& detail) const {
    if (step >= schedule_.steps.size()) {
      return {Violation::Kind::malformed, rank_, step, fmt::format("rank {}: {}", rank_, detail)};
    }
    return {Violation::Kind::malformed, rank_, step,
            fmt::format("rank {} step {}: {}: {}", rank_, step, describe(schedule_.steps[step]),
                        detail)};
  }

  Found check_space() const {
    const auto size = static_cast<std::uint32_t>(input_.ranks());
    const auto end = static_cast<StepId>(schedule_.steps.size());
    const std::uint32_t blocks = schedule_.space.blocks;
    if (blocks != input_.schedules[0].space.blocks) {
      return malformed(end, fmt::format("its program has {} blocks, rank 0's has {}", blocks,
                                        input_.schedules[0].space.blocks));
    }
    const Shape shape{rank_, static_cast<Rank>(size), input_.root, input_.in_place};
    if (schedule_.space != block_space(input_.collective, shape, part_blocks(input_, blocks)) ||
        (blocks == 0) != (input_.collective == Collective::barrier)) {
      return malformed(end, fmt::format("its buffers do not hold the blocks that {} defines",
                                        name(input_.collective)));
    }
    return std::nullopt;
  }

  Found check_step(StepId id) const {
    const Step& step = schedule_.steps[id];
    if (step.joined) {
      const bool last = id + 1 == schedule_.steps.size();
      if (last || schedule_.steps[id + 1].kind != step.kind ||
          schedule_.steps[id + 1].peer != step.peer || step.count == 0 ||
          schedule_.steps[id + 1].count == 0) {
        return malformed(id, "it is joined with the next step, which is no part of its message");
      }
    }
    bool message = false;
    switch (step.kind) {
      case StepKind::send:
      case StepKind::recv:
        message = true;
        break;
      case StepKind::copy:
      case StepKind::reduce:
        break;
    }
    if (step.kind > StepKind::reduce) return malformed(id, "this kind of step does not exist");
    if (!message) {
      if (step.peer != -1) return malformed(id, "a local step names a peer");
      if (step.count == 0) return malformed(id, "a local step without blocks");
    } else if (step.peer < 0 || static_cast<std::size_t>(step.peer) >= input_.ranks() ||
               step.peer == rank_) {
      return malformed(id,
                       fmt::format("rank {} is not another rank of {}", step.peer, input_.ranks()));
    }
    if (auto found = check_accesses(id)) return found;
    if (step.kind == StepKind::copy && same_place(step)) {
      return malformed(id, "copies a run onto itself");
    }
    return std::nullopt;
  }

  Found check_accesses(StepId id) const {
    Found found;
    for_each_access(schedule_.steps[id], [&](BufferId buffer, std::uint16_t slot, bool write) {
      if (!found) found = check_access(id, buffer, slot, write);
    });
    return found;
  }

  Found check_access(StepId id, BufferId buffer, std::uint16_t slot, bool write) const {
    const Step& step = schedule_.steps[id];
    const BlockSpace& space = schedule_.space;
    BlockSpace::Range range{0, space.blocks};
    switch (buffer) {
      case BufferId::input:
        range = space.input;
        break;
      case BufferId::output:
        range = space.output;
        break;
      case BufferId::scratch:
        if (slot >= schedule_.slots) {
          return malformed(id, fmt::format("there are {} scratch slots", schedule_.slots));
        }
        break;
    }
    if (buffer > BufferId::scratch) return malformed(id, "this buffer does not exist");
    if (!range.holds(step.first, step.count)) {
      return malformed(id,
                       fmt::format("the buffer holds {} blocks from {}", range.count, range.first));
    }
    if (write && buffer == BufferId::input &&
        !(input_.in_place && space.output.holds(step.first, step.count))) {
      return malformed(id, "writes into the caller's input");
    }
    return std::nullopt;
  }

  bool same_place(const Step& step) const {
    const bool a_scratch = step.a == BufferId::scratch,
               into_scratch = step.dst == BufferId::scratch;
    if (a_scratch || into_scratch) {
      return a_scratch && into_scratch && step.a_slot == step.dst_slot;
    }
    const Storage storage(schedule_.space, input_.in_place);
    return storage.cell(step.a, step.first) == storage.cell(step.dst, step.first);
  }

  Found check_edges() const {
    const std::size_t steps = schedule_.steps.size();
    const auto end = static_cast<StepId>(steps);
    const auto& begin = schedule_.first_successor;
    if (begin.size() != steps + 1 || begin.front() != 0 ||
        begin.back() != schedule_.successors.size() || schedule_.in_degrees.size() != steps ||
        !std::is_sorted(begin.begin(), begin.end())) {
      return malformed(end, "the edge arrays do not fit the number of steps");
    }
    std::vector<std::uint32_t> in_degrees(steps, 0);
    for (StepId from = 0; from < steps; ++from) {
      for (const StepId to : schedule_.successors_of(from)) {
        if (to <= from || to >= steps) {
          return malformed(from,
                           fmt::format("its edge to step {} does not point to a later step", to));
        }
        ++in_degrees[to];
      }
    }
    for (StepId i = 0; i < steps; ++i) {
      if (in_degrees[i] == schedule_.in_degrees[i]) continue;
      return malformed(i, fmt::format("{} edges lead here, its in-degree says {}", in_degrees[i],
                                      schedule_.in_degrees[i]));
    }
    return std::nullopt;
  }

  const VerifyInput& input_;
  Rank rank_;
  const Schedule& schedule_;
};

}  // namespace

std::optional<Violation> check_structure(const VerifyInput& input) {
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    if (auto found = StructureCheck(input, static_cast<Rank>(r)).run()) return found;
  }
  return std::nullopt;
}

}  // namespace commtune
