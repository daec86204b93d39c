#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "collectives/exchange/msccl_program.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// What an MSCCL chunk holds while a program is run symbolically: which block of the collective,
/// where a schedule keeps it, and which ranks' inputs it sums, [from, until) when they are summed
/// in the order of ranks.
struct MscclChunk {
  std::uint32_t block = 0;
  Slice place = in(0);                        ///< one block
  std::shared_ptr<const std::uint32_t> slot;  ///< held while the place is in scratch
  Rank from = 0, until = 0;
  bool written = false;
};

/// Scratch slots of one rank. A slot returns when the last chunk in it is gone, and is not taken
/// again at once, so that transfers through different slots may overlap.
class MscclSlots {
 public:
  std::shared_ptr<const std::uint32_t> acquire();

 private:
  struct State {
    std::uint32_t slots = 0;
    std::deque<std::uint32_t> free;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// The chunks of one gpu in cells. Where the program runs in place, chunks of its input and output
/// that share storage are one cell.
class MscclMemory {
 public:
  static constexpr std::uint32_t none = 0xffffffff;

  /// `aliased`: input and output of the program share storage.
  MscclMemory(const MscclProgram&, Rank, bool aliased);
  std::uint32_t cell(MscclRun run, std::uint32_t index) const;
  std::uint32_t cells() const noexcept { return static_cast<std::uint32_t>(chunks_.size()); }
  MscclChunk& operator[](std::uint32_t cell) { return chunks_[cell]; }
  const MscclChunk& operator[](std::uint32_t cell) const { return chunks_[cell]; }
  /// The output block that belongs in a cell; `none` outside the output.
  std::uint32_t result(std::uint32_t cell) const { return results_[cell]; }
  MscclSlots& slots() noexcept { return slots_; }

 private:
  void place_aliased(const MscclProgram&, Rank);
  void place_apart(const MscclProgram&, Rank);
  void hold_input(std::uint32_t cell, std::uint32_t block, Rank);

  std::vector<MscclChunk> chunks_;
  std::vector<std::uint32_t> results_;
  std::uint32_t first_[3] = {};  ///< cell of chunk 0 of a buffer
  MscclSlots slots_;
};

/// How far a step can see: for every thread block of all gpus, how many of its steps come before.
using MscclClock = std::vector<std::uint32_t>;

/// Finds accesses of two thread blocks of one gpu to one cell, one of them a write, that nothing
/// orders.
class MscclRaces {
 public:
  struct Access {
    std::uint32_t block, step;
  };
  /// `first_block`: number of the gpu's first thread block in clocks.
  MscclRaces(std::uint32_t cells, std::size_t first_block)
      : cells_(cells), first_block_(first_block) {}
  /// The earlier access that conflicts with this one, or null. Remembers this one.
  const Access* read(std::uint32_t cell, Access, const MscclClock&);
  const Access* write(std::uint32_t cell, Access, const MscclClock&);

 private:
  bool seen(const Access& access, const MscclClock& clock) const {
    return clock[first_block_ + access.block] > access.step;
  }
  struct Cell {
    std::vector<Access> writer;  ///< at most one
    std::vector<Access> readers;
  };
  std::vector<Cell> cells_;
  std::size_t first_block_;
  Access found_{};
};

}  // namespace commtune
