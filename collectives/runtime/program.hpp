#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/schedule/layout.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// A schedule step bound to one window width: byte offsets into the wave's three base addresses.
/// 48 bytes, read once per execution.
struct BoundStep {
  std::uint64_t a, b, dst;  ///< byte offsets
  std::uint64_t elements;
  Rank peer;
  StepKind kind;
  BufferId a_buffer, b_buffer, dst_buffer;
  bool empty;  ///< a data step that moves nothing in this window; a signal is not empty
};

/// The flat form of a schedule for windows of one width.
class Program {
 public:
  /// `call` gives count and type. Offsets of input and output are relative to the caller's spans.
  Program(const Schedule&, const Call&, Rank size, std::uint64_t width);

  const BoundStep* data() const noexcept { return steps_.data(); }
  /// Bytes of all scratch slots.
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  /// False when some step's blocks do not lie together in a window of this width.
  bool contiguous() const noexcept { return contiguous_; }

 private:
  std::vector<BoundStep> steps_;
  std::size_t scratch_bytes_ = 0;
  bool contiguous_ = true;
};

}  // namespace commtune
