#include "transports/local/arena.hpp"

#include <algorithm>
#include <cstring>

namespace commtune::local {

namespace {
std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}
}  // namespace

Arena::Arena(std::span<std::byte> memory) : memory_(memory), gaps_{{0, memory.size()}} {
  gaps_.reserve(64);
}

std::byte* Arena::allocate(std::size_t bytes) {
  const std::size_t length = whole_pages(bytes);
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& g) {
    return length >= bytes && g.end - g.begin >= length;
  });
  if (gap == gaps_.end()) return nullptr;
  const std::size_t begin = gap->begin, end = begin + length;
  gap->begin = end;
  if (gap->begin == gap->end) gaps_.erase(gap);
  if (begin < fresh_) std::memset(memory_.data() + begin, 0, std::min(end, fresh_) - begin);
  fresh_ = std::max(fresh_, end);
  return memory_.data() + begin;
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
