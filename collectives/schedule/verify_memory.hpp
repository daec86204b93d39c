#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/schedule/verify_passes.hpp"

namespace commtune {

/// Logical blocks [first, last) that are looked at together.
struct BlockGroup {
  std::uint32_t first = 0, last = 0;
};

/// Blocks of `range` below `block`.
constexpr std::uint32_t blocks_below(const BlockSpace::Range& range, std::uint32_t block) {
  if (block <= range.first || range.count == 0) return 0;
  const std::uint32_t ahead = block - range.first;
  if (range.run == range.count) return std::min(ahead, range.count);
  const std::uint64_t whole = std::uint64_t{ahead / range.stride} * range.run;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(whole + std::min(ahead % range.stride, range.run), range.count));
}

/// Buffers and scratch slots of all ranks, one Value per block of a group; other blocks take no
/// place. Needs programs that passed the passes before check_execution.
template <class Value>
class SymbolicMemory {
 public:
  /// Values of consecutive blocks from `first` on; none when the group has no block of the run.
  struct Run {
    Value* values = nullptr;
    std::uint32_t first = 0, count = 0;
  };

  explicit SymbolicMemory(const VerifyInput& input) : input_(input) {
    for (const Schedule& program : input.schedules) {
      const std::size_t first = widths_.size();
      widths_.resize(first + program.slots, 0);
      for (const Step& step : program.steps) {
        for_each_access(step, [&](BufferId buffer, std::uint16_t slot, bool) {
          if (buffer != BufferId::scratch) return;
          widths_[first + slot] = std::max(widths_[first + slot], step.count);
        });
      }
    }
    slots_.resize(widths_.size());
    places_.reserve(input.ranks());
  }

  /// The groups to look at one after another so that start() takes `budget` bytes or little more.
  std::uint32_t group_size(std::size_t budget) {
    const std::uint32_t blocks = input_.schedules[0].space.blocks;
    // In place, these hold different blocks at one place, which only shows when all are there.
    const bool shared = input_.in_place && (input_.collective == Collective::alltoall ||
                                            input_.collective == Collective::sendrecv);
    const std::size_t groups = shared ? 1 : lay_out({0, blocks}) * sizeof(Value) / budget + 1;
    return static_cast<std::uint32_t>(blocks / groups + 1);
  }

  /// Empties the memory and takes up another group.
  void start(BlockGroup group) { values_.assign(lay_out(group), Value{}); }

  Run at(Rank rank, BufferId buffer, std::uint16_t slot, std::uint32_t first, std::uint32_t count) {
    const std::uint32_t from = std::max(first, group_.first);
    const std::uint32_t until = std::min(first + count, group_.last);
    if (from >= until) return {};
    const Place& place = places_[static_cast<std::size_t>(rank)];
    if (buffer == BufferId::scratch) {
      const Slot& held = slots_[place.first_slot + slot];
      return {&values_[held.begin + (from - held.first)], from, until - from};
    }
    const std::size_t begin = buffer == BufferId::input ? place.input_begin : place.output_begin;
    // The sum wraps around: the first places of a buffer may lie outside the group.
    return {&values_[begin + place.storage.cell(buffer, from)], from, until - from};
  }
  Run source(Rank rank, const Step& step) {
    return at(rank, step.a, step.a_slot, step.first, step.count);
  }
  Run other_source(Rank rank, const Step& step) {
    return at(rank, step.b, step.b_slot, step.first, step.count);
  }
  /// Where `step` writes; a scratch slot takes the run over.
  Run destination(Rank rank, const Step& step) {
    if (step.dst == BufferId::scratch) {
      slots_[places_[static_cast<std::size_t>(rank)].first_slot + step.dst_slot].first =
          std::max(step.first, group_.first);
    }
    return at(rank, step.dst, step.dst_slot, step.first, step.count);
  }
  /// Calls visit(block, value) for the blocks of the group that a buffer of `rank` holds.
  template <class Visit>
  void for_each_block(Rank rank, BufferId buffer, Visit visit) {
    const BlockSpace& space = input_.schedules[static_cast<std::size_t>(rank)].space;
    const auto& range = buffer == BufferId::input ? space.input : space.output;
    const std::uint32_t end = blocks_below(range, group_.last);
    for (std::uint32_t i = blocks_below(range, group_.first); i < end; ++i) {
      visit(range.block(i), *at(rank, buffer, 0, range.block(i), 1).values);
    }
  }

 private:
  struct Place {
    Storage storage;
    std::size_t input_begin, output_begin, first_slot;
  };
  struct Slot {
    std::size_t begin;
    std::uint32_t first;
  };

  /// Returns how many values the group takes.
  std::size_t lay_out(BlockGroup group) {
    group_ = group;
    places_.clear();
    std::size_t total = 0, slot = 0;
    for (const Schedule& program : input_.schedules) {
      const BlockSpace& space = program.space;
      const Storage storage(space, input_.in_place);
      const auto inside = [&](const BlockSpace::Range& range) {
        return std::size_t{blocks_below(range, group.last) - blocks_below(range, group.first)};
      };
      if (input_.in_place) {
        const auto& wider = space.input.count > space.output.count ? space.input : space.output;
        const std::size_t begin = total - blocks_below(wider, group.first);
        places_.push_back({storage, begin, begin, slot});
        total += inside(wider);
      } else {
        const std::size_t input_begin = total - blocks_below(space.input, group.first);
        total += inside(space.input);
        const std::size_t output_begin =
            total - blocks_below(space.output, group.first) - space.input.count;
        total += inside(space.output);
        places_.push_back({storage, input_begin, output_begin, slot});
      }
      for (std::uint32_t i = 0; i < program.slots; ++i, ++slot) {
        slots_[slot] = {total, 0};
        total += std::min(widths_[slot], group.last - group.first);
      }
    }
    return total;
  }

  const VerifyInput& input_;
  BlockGroup group_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> widths_;  ///< longest run of each slot of every rank
  std::vector<Slot> slots_;
  std::vector<Value> values_;
};

}  // namespace commtune
