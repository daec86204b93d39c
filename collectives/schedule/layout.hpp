#pragma once
#include <cstdint>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Binds logical blocks to elements for one window of the buffer. `count` is the number of elements
/// a rank contributes (the whole vector for allreduce and broadcast; one rank's part for allgather
/// and reduce_scatter). The window [begin, begin + width) selects elements of each part, so one
/// small schedule run over successive windows ("waves") pipelines a large buffer. Blocks cut a
/// window as evenly as possible, the first ones one element longer. `blocks` counts as in
/// block_space: per vector for allreduce and broadcast, per rank for allgather and reduce_scatter.
class Layout {
 public:
  Layout(Collective, Rank size, std::uint32_t blocks, std::uint64_t count, std::uint64_t begin,
         std::uint64_t width);
  /// Elements in blocks [first, first + n).
  std::uint64_t elements(std::uint32_t first, std::uint32_t n) const;
  /// Element offset of block `first` in the whole logical vector (all parts one after another).
  std::uint64_t offset(std::uint32_t first) const;
  /// False when the run spans parts and the window leaves gaps between them.
  bool contiguous(std::uint32_t first, std::uint32_t n) const;

 private:
  std::uint64_t parts_, part_count_, blocks_per_part_, begin_, width_;
};

}  // namespace commtune
