#include "transports/local/landing.hpp"

#include <algorithm>
#include <bit>

namespace commtune::local {

std::byte* LandingBuffers::take(std::size_t bytes) {
  constexpr std::size_t smallest = 4096;
  const std::size_t rounded = std::bit_ceil(std::max(bytes, smallest));
  const auto size_class = static_cast<std::size_t>(std::countr_zero(rounded));
  Header* block = free_[size_class];
  if (block == nullptr) {
    void* const memory =
        ::operator new (sizeof(Header) + rounded, std::align_val_t{alignof(Header)});
    block = new (memory) Header{nullptr, size_class};
    blocks_.emplace_back(block);
  } else {
    free_[size_class] = block->next;
  }
  return reinterpret_cast<std::byte*>(block + 1);
}

void LandingBuffers::give(const std::byte* data) noexcept {
  Header* const block = reinterpret_cast<Header*>(const_cast<std::byte*>(data)) - 1;
  block->next = free_[block->size_class];
  free_[block->size_class] = block;
}

}  // namespace commtune::local
