#include "collectives/runtime/program.hpp"

#include <algorithm>

namespace commtune {
namespace {

constexpr std::size_t scratch_alignment = 64;

class Binder {
 public:
  Binder(const Plan& plan, const Layout& layout, std::size_t element_bytes)
      : plan_(plan),
        layout_(layout),
        element_bytes_(element_bytes),
        input_(layout, plan.space.input),
        output_(layout, plan.space.output),
        run_offsets_(plan.runs.size() + 1, 0) {
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
      run_offsets_[i + 1] = run_offsets_[i] + elements(plan.runs[i]);
    }
  }

  std::uint64_t elements(const Slice& slice) const {
    return layout_.elements(slice.first, slice.count);
  }
  std::uint64_t message_elements(const PlanStep& step) const {
    return run_offsets_[step.first_run + step.runs] - run_offsets_[step.first_run];
  }
  /// Elements from the start of the scratch slot or the message that holds the operand.
  std::uint64_t within(const Operand& operand) const {
    return run_offsets_[operand.run] - run_offsets_[operand.message] +
           layout_.elements(operand.held_first, operand.slice.first - operand.held_first);
  }
  std::uint64_t offset(const Operand& operand) const {
    if (operand.view == Operand::none) {
      switch (operand.slice.buffer) {
        case BufferId::input:
          return input_.offset(operand.slice.first) * element_bytes_;
        case BufferId::output:
          return output_.offset(operand.slice.first) * element_bytes_;
        case BufferId::scratch:
          return slots_[operand.slice.slot] + within(operand) * element_bytes_;
      }
    }
    return within(operand) * element_bytes_;
  }

  /// Lays the slots out one after another, each as big as the most it ever holds.
  std::size_t place_slots() {
    std::vector<std::uint64_t> sizes(plan_.slots, 0);
    for (const PlanStep& step : plan_.steps) {
      for (std::uint32_t i = 0; i < step.operands; ++i) {
        const Operand& operand = plan_.operands[step.first_operand + i];
        if (operand.view != Operand::none || operand.slice.buffer != BufferId::scratch) continue;
        const bool message = step.runs > 1;
        const std::uint64_t end =
            message ? message_elements(step) : within(operand) + elements(operand.slice);
        sizes[operand.slice.slot] = std::max(sizes[operand.slice.slot], end * element_bytes_);
      }
    }
    std::size_t total = 0;
    slots_.clear();
    for (const std::uint64_t bytes : sizes) {
      slots_.push_back(total);
      total += (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
    }
    return total;
  }

 private:
  const Plan& plan_;
  const Layout& layout_;
  std::size_t element_bytes_;
  BufferLayout input_, output_;
  std::vector<std::uint64_t> run_offsets_;
  std::vector<std::size_t> slots_;
};

}  // namespace

std::uint32_t blocks_of_part(Collective collective, const BlockSpace& space, Rank size) {
  const auto ranks = static_cast<std::uint32_t>(size);
  if (!parted(collective)) return space.blocks;
  return collective == Collective::alltoall ? space.blocks / ranks / ranks : space.blocks / ranks;
}

bool single_parts(const Schedule& schedule, std::uint32_t blocks_per_part) {
  return std::all_of(schedule.steps.begin(), schedule.steps.end(), [&](const Step& step) {
    return step.count == 0 ||
           step.first / blocks_per_part == (step.first + step.count - 1) / blocks_per_part;
  });
}

Program::Program(const Plan& plan, const Call& call, Rank size, std::uint64_t width) {
  const Layout layout(blocks_of_part(call.collective, plan.space, size), counts_of(call), 0, width);
  Binder bind(plan, layout, size_of(call.type));
  scratch_bytes_ = bind.place_slots();

  operands_.reserve(plan.operands.size());
  for (const Operand& operand : plan.operands) {
    const Slice& slice = operand.slice;
    operands_.push_back({bind.offset(operand), bind.elements(slice), operand.view, slice.buffer});
  }
  steps_.reserve(plan.steps.size());
  for (const PlanStep& step : plan.steps) {
    BoundStep bound{0,         step.first_operand, step.operands, step.view,
                    step.peer, step.kind,          step.kept,     false};
    if (step.kind == StepKind::send || step.kind == StepKind::recv) {
      bound.elements = bind.message_elements(step);
      bound.empty = step.runs != 0 && bound.elements == 0;
    } else {
      const std::uint32_t stride = step.kind == StepKind::copy ? 2 : step.operands;
      for (std::uint32_t i = 0; i < step.operands; i += stride) {
        bound.elements += operands_[step.first_operand + i].elements;
      }
      bound.empty = bound.elements == 0;
    }
    steps_.push_back(bound);
  }
}

}  // namespace commtune
