#include "collectives/schedule/layout.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace commtune {

Layout::Layout(Collective collective, Rank size, std::uint32_t blocks, std::uint64_t count,
               std::uint64_t begin, std::uint64_t width)
    : parts_(1), part_count_(count), blocks_per_part_(blocks), begin_(begin), width_(width) {
  require(blocks > 0 || collective == Collective::barrier, "layout: {} needs at least one block",
          name(collective));
  require(begin <= count && width <= count - begin,
          "layout: the window of {} elements from {} leaves the {} elements of a part", width,
          begin, count);
  blocks_per_part_ = std::max<std::uint64_t>(blocks_per_part_, 1);
  switch (collective) {
    case Collective::allgather:
    case Collective::reduce_scatter:
      parts_ = static_cast<std::uint64_t>(size);
      break;
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::barrier:
      break;
  }
}

std::uint64_t Layout::elements(std::uint32_t first, std::uint32_t n) const {
  const auto before = [&](std::uint64_t block) {
    const std::uint64_t within = block % blocks_per_part_;
    return block / blocks_per_part_ * width_ + within * (width_ / blocks_per_part_) +
           std::min(within, width_ % blocks_per_part_);
  };
  return before(std::uint64_t{first} + n) - before(first);
}

std::uint64_t Layout::offset(std::uint32_t first) const {
  const std::uint64_t part = first / blocks_per_part_;
  const auto part_first = static_cast<std::uint32_t>(part * blocks_per_part_);
  return part * part_count_ + begin_ + elements(part_first, first - part_first);
}

bool Layout::contiguous(std::uint32_t first, std::uint32_t n) const {
  if (n == 0 || width_ == part_count_ || parts_ == 1) return true;
  return first / blocks_per_part_ == (first + n - 1) / blocks_per_part_;
}

}  // namespace commtune
