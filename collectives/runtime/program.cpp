#include "collectives/runtime/program.hpp"

#include <algorithm>

namespace commtune {
namespace {

constexpr std::size_t scratch_alignment = 64;

bool signals(const Step& step) {
  return step.count == 0 && (step.kind == StepKind::send || step.kind == StepKind::recv);
}

std::vector<std::size_t> scratch_offsets(const Schedule& schedule, const Layout& layout,
                                         std::size_t element_bytes, std::size_t& total) {
  std::vector<std::size_t> offsets(schedule.slots, 0);
  for (const Step& step : schedule.steps) {
    const std::size_t bytes = layout.elements(step.first, step.count) * element_bytes;
    const auto need = [&](BufferId buffer, std::uint16_t slot) {
      if (buffer == BufferId::scratch) offsets[slot] = std::max(offsets[slot], bytes);
    };
    switch (step.kind) {
      case StepKind::send:
        need(step.a, step.a_slot);
        break;
      case StepKind::recv:
        need(step.dst, step.dst_slot);
        break;
      case StepKind::reduce:
        need(step.b, step.b_slot);
        [[fallthrough]];
      case StepKind::copy:
        need(step.a, step.a_slot);
        need(step.dst, step.dst_slot);
        break;
    }
  }
  total = 0;
  for (std::size_t& offset : offsets) {
    const std::size_t bytes = offset;
    offset = total;
    total += (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
  }
  return offsets;
}

}  // namespace

Program::Program(const Schedule& schedule, const Call& call, Rank size, std::uint64_t width) {
  const bool parted =
      call.collective == Collective::allgather || call.collective == Collective::reduce_scatter;
  const std::uint32_t blocks =
      parted ? schedule.space.blocks / static_cast<std::uint32_t>(size) : schedule.space.blocks;
  const Layout layout(call.collective, size, blocks, call.count, 0, width);
  const std::size_t element = size_of(call.type);
  const auto slots = scratch_offsets(schedule, layout, element, scratch_bytes_);

  const auto base_of = [&](const BlockSpace::Range& range) {
    return range.count == 0 ? 0 : layout.offset(range.first);
  };
  const std::uint64_t input_base = base_of(schedule.space.input);
  const std::uint64_t output_base = base_of(schedule.space.output);
  const auto place = [&](BufferId buffer, std::uint16_t slot, std::uint32_t first) {
    switch (buffer) {
      case BufferId::input:
        return (layout.offset(first) - input_base) * element;
      case BufferId::output:
        return (layout.offset(first) - output_base) * element;
      case BufferId::scratch:
        break;
    }
    return static_cast<std::uint64_t>(slots[slot]);
  };

  steps_.reserve(schedule.steps.size());
  for (const Step& step : schedule.steps) {
    BoundStep bound{};
    bound.kind = step.kind;
    bound.peer = step.peer;
    bound.a_buffer = step.a;
    bound.b_buffer = step.b;
    bound.dst_buffer = step.dst;
    if (!signals(step)) {
      bound.elements = layout.elements(step.first, step.count);
      bound.empty = bound.elements == 0;
      contiguous_ = contiguous_ && layout.contiguous(step.first, step.count);
      const bool reads_a = step.kind != StepKind::recv;
      const bool reads_b = step.kind == StepKind::reduce;
      const bool writes = step.kind != StepKind::send;
      if (reads_a) bound.a = place(step.a, step.a_slot, step.first);
      if (reads_b) bound.b = place(step.b, step.b_slot, step.first);
      if (writes) bound.dst = place(step.dst, step.dst_slot, step.first);
    }
    steps_.push_back(bound);
  }
}

}  // namespace commtune
