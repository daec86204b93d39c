#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Elements of the parts of a collective: `each`, or where `parts` is not empty parts[p]. One entry
/// per rank; alltoall: P*P, [from*P+to]. The memory of `parts` belongs to the caller.
struct Counts {
  std::uint64_t each = 0;
  std::span<const std::uint64_t> parts = {};
  std::uint64_t of(std::uint64_t part) const noexcept {
    return parts.empty() ? each : parts[static_cast<std::size_t>(part)];
  }
  std::uint64_t largest() const noexcept;
};

/// Binds logical blocks to elements for one window of the buffer. The window [begin, begin + width)
/// selects elements of each part, so one small schedule run over successive windows ("waves")
/// pipelines a large buffer; shorter parts leave some windows empty. Blocks cut a window as evenly
/// as possible, the first ones one element longer. Collectives that are not parted() have one part,
/// the vector. `blocks` is the number of blocks of a part, as in block_space.
class Layout {
 public:
  Layout(std::uint32_t blocks, const Counts&, std::uint64_t begin, std::uint64_t width);
  /// Elements in blocks [first, first + n).
  std::uint64_t elements(std::uint32_t first, std::uint32_t n) const;
  std::uint32_t blocks_per_part() const noexcept { return blocks_; }
  std::uint64_t part_of(std::uint32_t block) const noexcept { return block / blocks_; }
  const Counts& counts() const noexcept { return counts_; }
  /// Elements of `part` before the window.
  std::uint64_t skipped(std::uint64_t part) const;

 private:
  std::uint64_t window_of(std::uint64_t part) const;

  Counts counts_;
  std::uint32_t blocks_;
  std::uint64_t begin_, width_;
};

/// Where the blocks of one buffer lie.
class BufferLayout {
 public:
  BufferLayout(const Layout&, const BlockSpace::Range&);
  /// Elements from the start of the buffer to `block`, which the range holds.
  std::uint64_t offset(std::uint32_t block) const;

 private:
  const Layout& layout_;
  BlockSpace::Range range_;
  std::vector<std::uint64_t> part_offsets_;  ///< empty when all parts have one size
};

}  // namespace commtune
