#include "transports/local/arena.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

#include "transports/local/limits.hpp"

namespace commtune::local {

namespace {
std::size_t whole_pages(std::size_t bytes) {
  return round_up(std::max<std::size_t>(bytes, 1), page_bytes);
}
}  // namespace

Arena::Arena(std::span<std::byte> memory, bool huge_pages)
    : memory_(memory), huge_pages_(huge_pages), gaps_{{0, memory.size()}} {
  gaps_.reserve(64);
}

std::byte* Arena::allocate(std::size_t bytes) {
  const std::size_t length = whole_pages(bytes);
  const bool huge = huge_pages_ && length >= huge_page_bytes;
  const std::size_t alignment = huge ? huge_page_bytes : page_bytes;
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& g) {
    const std::size_t begin = round_up(g.begin, alignment);
    return length >= bytes && begin <= g.end && g.end - begin >= length;
  });
  if (gap == gaps_.end()) return nullptr;
  const std::size_t begin = round_up(gap->begin, alignment), end = begin + length;
  const Gap before{gap->begin, begin};
  gap->begin = end;
  const auto next = gap->begin == gap->end ? gaps_.erase(gap) : gap;
  if (before.begin != before.end) gaps_.insert(next, before);
  std::byte* const data = memory_.data() + begin;
  if (huge) madvise(data, length / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
  if (begin < fresh_) std::memset(data, 0, std::min(end, fresh_) - begin);
  fresh_ = std::max(fresh_, end);
  return data;
}

void Arena::deallocate(std::byte* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  const auto begin = static_cast<std::size_t>(data - memory_.data());
  const std::size_t end = begin + whole_pages(bytes);
  auto next =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& g) { return g.begin >= end; });
  if (next != gaps_.end() && next->begin == end) {
    next->begin = begin;
  } else {
    next = gaps_.insert(next, Gap{begin, end});
  }
  if (next != gaps_.begin() && std::prev(next)->end == begin) {
    std::prev(next)->end = next->end;
    gaps_.erase(next);
  }
}

}  // namespace commtune::local
