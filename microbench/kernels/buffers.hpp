#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace commtune {

/// Page-aligned, touched memory of zero bytes, which is a normal value in every data type. Buffers
/// that are used together need different `lines`, the cache lines by which each is shifted: at the
/// same offset in a page, loads would wait for stores that only look like the same address.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes, std::size_t lines = 0) : shift_(lines * 64) {
    constexpr std::size_t page = 4096;
    const std::size_t size = (bytes + shift_ + page - 1) / page * page;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size)));
    std::memset(memory_.get(), 0, size);
  }
  std::byte* data() const noexcept { return memory_.get() + shift_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::size_t shift_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace commtune
