#include "tests/collectives/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "collectives/runtime/program.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/schedule/verify_rehearsal.hpp"
#include "core/error.hpp"
#include "devices/host/reduce.hpp"

namespace commtune::test {
namespace {

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

/// Carries out every step that a rehearsal allows, on the memory of all ranks.
class Interpreter final : public Rehearsal::Visitor {
 public:
  Interpreter(const std::vector<Schedule>& schedules, const Call& call, const Layout& layout,
              const std::vector<CallMemory>& memory)
      : schedules_(schedules),
        layout_(layout),
        memory_(memory),
        element_(size_of(call.type)),
        reduce_(reduce_kernel(call.type, call.op)) {
    for (const Schedule& schedule : schedules) {
      inputs_.emplace_back(layout, schedule.space.input);
      outputs_.emplace_back(layout, schedule.space.output);
      slots_.emplace_back(schedule.slots);
    }
  }

  bool local(Rank rank, StepId id) override {
    const Step& step = step_of(rank, id);
    const std::uint64_t count = elements(step);
    const std::byte* const a = source(rank, step.a, step.a_slot, step);
    if (step.kind == StepKind::copy) {
      const std::vector<std::byte> value(a, a + count * element_);
      std::copy(value.begin(), value.end(), destination(rank, step));
      return true;
    }
    const std::byte* const b = source(rank, step.b, step.b_slot, step);
    std::vector<std::byte> sum(count * element_);
    reduce_(a, b, sum.data(), count);
    std::copy(sum.begin(), sum.end(), destination(rank, step));
    return true;
  }

  bool message(Rank from, StepId send, Rank to, StepId recv) override {
    const Step& sent = step_of(from, send);
    if (sent.count == 0) return true;
    const std::byte* const data = source(from, sent.a, sent.a_slot, sent);
    std::copy_n(data, elements(sent) * element_, destination(to, step_of(to, recv)));
    return true;
  }

 private:
  struct Slot {
    std::uint32_t first = 0;  ///< block
    std::vector<std::byte> data;
  };

  const Step& step_of(Rank rank, StepId id) const { return schedules_[index(rank)].steps[id]; }
  std::uint64_t elements(const Step& step) const {
    return layout_.elements(step.first, step.count);
  }

  const std::byte* source(Rank rank, BufferId buffer, std::uint16_t slot, const Step& step) {
    const CallMemory& mine = memory_[index(rank)];
    switch (buffer) {
      case BufferId::input:
        return mine.input.data() + inputs_[index(rank)].offset(step.first) * element_;
      case BufferId::output:
        return mine.output.data() + outputs_[index(rank)].offset(step.first) * element_;
      case BufferId::scratch:
        break;
    }
    const Slot& held = slots_[index(rank)][slot];
    return held.data.data() + layout_.elements(held.first, step.first - held.first) * element_;
  }

  std::byte* destination(Rank rank, const Step& step) {
    if (step.dst != BufferId::scratch) {
      return const_cast<std::byte*>(source(rank, step.dst, step.dst_slot, step));
    }
    Slot& slot = slots_[index(rank)][step.dst_slot];
    slot.first = step.first;
    slot.data.resize(elements(step) * element_);
    return slot.data.data();
  }

  const std::vector<Schedule>& schedules_;
  const Layout& layout_;
  const std::vector<CallMemory>& memory_;
  std::size_t element_;
  ReduceKernel reduce_;
  std::vector<BufferLayout> inputs_, outputs_;
  std::vector<std::vector<Slot>> slots_;
};

std::uint32_t blocks_of(const std::vector<Schedule>& schedules, const Call& call) {
  return blocks_of_part(call.collective, schedules[0].space, static_cast<Rank>(schedules.size()));
}

}  // namespace

void interpret(const std::vector<Schedule>& schedules, const Call& call, std::uint64_t width,
               const std::vector<CallMemory>& memory) {
  Matching matching;
  if (const auto violation = match_messages(schedules, matching)) {
    fail(Errc::wrong_result, "{}", violation->detail);
  }
  const Counts counts = counts_of(call);
  std::uint64_t begin = 0;
  do {
    const Layout layout(blocks_of(schedules, call), counts, begin,
                        std::min(width, counts.largest() - begin));
    Interpreter interpreter(schedules, call, layout, memory);
    if (Rehearsal(schedules, matching).run(interpreter) != Rehearsal::End::finished) {
      fail(Errc::wrong_result, "the programs do not run to their ends");
    }
    begin += width;
  } while (width != 0 && begin < counts.largest());
  if (call.op != ReduceOp::avg || !reduces(call.collective)) return;
  for (const CallMemory& mine : memory) {
    scale(mine.output.data(), mine.output.size() / size_of(call.type), call.type,
          static_cast<int>(memory.size()));
  }
}

std::uint64_t window_width(const std::vector<Schedule>& schedules, const Call& call,
                           std::uint64_t wave_bytes) {
  const std::uint64_t longest = counts_of(call).largest();
  const std::uint64_t width = std::max<std::uint64_t>(1, wave_bytes / size_of(call.type));
  if (wave_bytes == 0 || longest <= width || !call.counts.empty()) return longest;
  const bool cut = !parted(call.collective) ||
                   std::all_of(schedules.begin(), schedules.end(), [&](const Schedule& each) {
                     return single_parts(each, blocks_of(schedules, call));
                   });
  return cut ? width : longest;
}

void fill_random(std::span<std::byte> data, DataType type, std::uint64_t seed) {
  struct Format {
    unsigned significand, exponent;  ///< bits
  };
  Format format{0, 0};
  switch (type) {
    case DataType::int8:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64:
    case DataType::uint8:
      break;
    case DataType::float16:
      format = {10, 5};
      break;
    case DataType::bfloat16:
      format = {7, 8};
      break;
    case DataType::float32:
      format = {23, 8};
      break;
    case DataType::float64:
      format = {52, 11};
      break;
    case DataType::float8_e4m3:
      format = {3, 4};
      break;
    case DataType::float8_e5m2:
      format = {2, 5};
      break;
  }
  std::mt19937_64 random(seed);
  const std::size_t bytes = size_of(type);
  for (std::size_t at = 0; at < data.size(); at += bytes) {
    std::uint64_t bits = random();
    if (format.exponent != 0) {
      const std::uint64_t one = (std::uint64_t{1} << (format.exponent - 1)) - 1;
      const std::uint64_t exponent = one - 1 + (bits >> 60) % 3;
      const std::uint64_t sign = (bits >> 59) & 1U;
      bits &= (std::uint64_t{1} << format.significand) - 1;
      bits |= exponent << format.significand;
      bits |= sign << (format.significand + format.exponent);
    }
    std::memcpy(data.data() + at, &bits, bytes);
  }
}

std::uint64_t input_seed(const Interpreted& task, Rank rank) {
  return task.seed * 1000003 + static_cast<std::uint64_t>(rank);
}

void interpret(Interpreted& task, Rank size) {
  const Shape shape{0, size, task.call.root, task.call.in_place};
  const std::vector<Schedule> schedules = generate_all(*task.algorithm, shape, task.params);
  std::vector<std::vector<std::byte>> storage;
  std::vector<CallMemory> memory;
  for (Rank rank = 0; rank < size; ++rank) {
    Call mine = task.call;
    storage.emplace_back(memory_bytes(mine, size, rank));
    memory.push_back(place(mine, storage.back(), size, rank));
    fill_random(memory.back().input, mine.type, input_seed(task, rank));
  }
  interpret(schedules, task.call, window_width(schedules, task.call, task.wave_bytes), memory);
  task.outputs.clear();
  for (const CallMemory& mine : memory) {
    task.outputs.emplace_back(mine.output.begin(), mine.output.end());
  }
}

}  // namespace commtune::test
