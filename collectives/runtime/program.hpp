#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/plan.hpp"

namespace commtune {

/// Where an operand starts: bytes from one of the wave's base addresses, or from a view's data.
struct BoundOperand {
  std::uint64_t offset;
  std::uint64_t elements;
  std::uint32_t view;  ///< Operand::none: in memory
  BufferId buffer;
};

/// A plan step bound to one window width. 40 bytes, read once per execution.
struct BoundStep {
  std::uint64_t elements;  ///< moved or reduced in all
  std::uint32_t first_operand, operands;
  std::uint32_t view;
  Rank peer;
  StepKind kind;
  bool kept;   ///< as in PlanStep
  bool empty;  ///< a data step that moves nothing in this window; a signal is not empty
};

/// A plan bound to windows of one width.
class Program {
 public:
  /// `call` gives counts and type. Offsets of input and output are relative to the caller's spans.
  /// Windows narrower than the largest part need a schedule of single_parts().
  Program(const Plan&, const Call&, Rank size, std::uint64_t width);

  const BoundStep* steps() const noexcept { return steps_.data(); }
  const BoundOperand* operands() const noexcept { return operands_.data(); }
  /// Bytes of all scratch slots.
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

 private:
  std::vector<BoundStep> steps_;
  std::vector<BoundOperand> operands_;
  std::size_t scratch_bytes_ = 0;
};

/// The number of blocks of a part, of the `space.blocks` of a program.
std::uint32_t blocks_of_part(Collective, const BlockSpace&, Rank size);
/// Whether no step moves blocks of several parts at once: a window leaves gaps between parts.
bool single_parts(const Schedule&, std::uint32_t blocks_per_part);

}  // namespace commtune
