#include "collectives/schedule/layout.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace commtune {

std::uint64_t Counts::largest() const noexcept {
  return parts.empty() ? each : *std::max_element(parts.begin(), parts.end());
}

Layout::Layout(std::uint32_t blocks, const Counts& counts, std::uint64_t begin, std::uint64_t width)
    : counts_(counts), blocks_(std::max(blocks, 1U)), begin_(begin), width_(width) {
  require(begin <= counts.largest() && width <= counts.largest() - begin,
          "layout: the window of {} elements from {} leaves the {} elements of a part", width,
          begin, counts.largest());
}

std::uint64_t Layout::window_of(std::uint64_t part) const {
  const std::uint64_t count = counts_.of(part);
  return count <= begin_ ? 0 : std::min(count - begin_, width_);
}

std::uint64_t Layout::skipped(std::uint64_t part) const {
  return std::min(begin_, counts_.of(part));
}

std::uint64_t Layout::elements(std::uint32_t first, std::uint32_t n) const {
  const auto within = [&](std::uint64_t window, std::uint64_t block) {
    return block * (window / blocks_) + std::min(block, window % blocks_);
  };
  const std::uint64_t end = std::uint64_t{first} + n;
  if (counts_.parts.empty()) {
    const std::uint64_t window = window_of(0);
    const auto before = [&](std::uint64_t block) {
      return block / blocks_ * window + within(window, block % blocks_);
    };
    return before(end) - before(first);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t block = first; block < end;) {
    const std::uint64_t part = block / blocks_, part_end = std::min(end, (part + 1) * blocks_);
    const std::uint64_t window = window_of(part);
    sum += within(window, part_end - part * blocks_) - within(window, block - part * blocks_);
    block = part_end;
  }
  return sum;
}

BufferLayout::BufferLayout(const Layout& layout, const BlockSpace::Range& range)
    : layout_(layout), range_(range) {
  if (layout.counts().parts.empty()) return;
  std::uint64_t offset = 0;
  for (std::uint32_t at = 0; at < range.count; at += layout.blocks_per_part()) {
    part_offsets_.push_back(offset);
    offset += layout.counts().of(layout.part_of(range.block(at)));
  }
}

std::uint64_t BufferLayout::offset(std::uint32_t block) const {
  const std::uint32_t position = range_.position(block);
  const std::uint64_t index = position / layout_.blocks_per_part();
  const std::uint64_t part = layout_.part_of(block);
  const auto part_first = static_cast<std::uint32_t>(part * layout_.blocks_per_part());
  const std::uint64_t start =
      part_offsets_.empty() ? index * layout_.counts().each : part_offsets_[index];
  return start + layout_.skipped(part) + layout_.elements(part_first, block - part_first);
}

}  // namespace commtune
