#include "collectives/exchange/msccl_memory.hpp"

#include "core/error.hpp"

namespace commtune {

std::shared_ptr<const std::uint32_t> MscclSlots::acquire() {
  constexpr std::size_t resting = 4;
  std::uint32_t slot = 0;
  if (state_->free.size() > resting) {
    slot = state_->free.front();
    state_->free.pop_front();
  } else {
    slot = state_->slots++;
    require(slot <= 0xffff, "the schedule needs more than 65536 scratch slots");
  }
  return {new std::uint32_t(slot), [state = state_](const std::uint32_t* returned) {
            state->free.push_back(*returned);
            delete returned;
          }};
}

MscclMemory::MscclMemory(const MscclProgram& program, Rank rank, bool aliased) {
  if (aliased) {
    place_aliased(program, rank);
  } else {
    place_apart(program, rank);
  }
  first_[2] = cells();
  const std::size_t all =
      chunks_.size() + program.gpus[static_cast<std::size_t>(rank)].scratch_chunks;
  chunks_.resize(all);
  results_.resize(all, none);
}

std::uint32_t MscclMemory::cell(MscclRun run, std::uint32_t index) const {
  return first_[static_cast<std::size_t>(run.buffer)] + run.offset + index;
}

void MscclMemory::hold_input(std::uint32_t cell, std::uint32_t block, Rank rank) {
  chunks_[cell] = {block, in(block), nullptr, rank, rank + 1, true};
}

void MscclMemory::place_aliased(const MscclProgram& program, Rank rank) {
  const Shape shape{rank, program.ranks(), 0, true};
  const std::uint32_t part = program.blocks();
  const BlockSpace space = block_space(program.collective, shape, part);
  const std::uint32_t own = static_cast<std::uint32_t>(rank) * part;
  chunks_.resize(program.chunks);
  results_.assign(program.chunks, none);
  // The narrower buffer is this rank's part of the wider one.
  first_[0] = program.collective == Collective::allgather ? own : 0;
  first_[1] = program.collective == Collective::reduce_scatter ? own : 0;
  for (std::uint32_t i = 0; i < space.input.count; ++i) {
    hold_input(first_[0] + i, space.input.block(i), rank);
  }
  for (std::uint32_t i = 0; i < space.output.count; ++i) {
    results_[first_[1] + i] = space.output.block(i);
  }
}

void MscclMemory::place_apart(const MscclProgram& program, Rank rank) {
  const BlockSpace space =
      block_space(program.collective, {rank, program.ranks(), 0, false}, program.blocks());
  first_[1] = space.input.count;
  const std::size_t all = std::size_t{space.input.count} + space.output.count;
  chunks_.resize(all);
  results_.assign(all, none);
  for (std::uint32_t i = 0; i < space.input.count; ++i) hold_input(i, space.input.block(i), rank);
  for (std::uint32_t i = 0; i < space.output.count; ++i) {
    results_[first_[1] + i] = space.output.block(i);
  }
}

const MscclRaces::Access* MscclRaces::read(std::uint32_t cell, Access access,
                                           const MscclClock& clock) {
  Cell& at = cells_[cell];
  at.readers.push_back(access);
  if (at.writer.empty() || seen(at.writer.front(), clock)) return nullptr;
  found_ = at.writer.front();
  return &found_;
}

const MscclRaces::Access* MscclRaces::write(std::uint32_t cell, Access access,
                                            const MscclClock& clock) {
  Cell& at = cells_[cell];
  const auto late = [&](const std::vector<Access>& earlier) {
    for (const Access& each : earlier) {
      if (each.block == access.block || seen(each, clock)) continue;
      found_ = each;
      return true;
    }
    return false;
  };
  const bool raced = late(at.writer) || late(at.readers);
  at.writer.assign(1, access);
  at.readers.clear();
  return raced ? &found_ : nullptr;
}

}  // namespace commtune
