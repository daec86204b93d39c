#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace commtune::local {

/// Buffers for views of messages that cannot be read where they were sent. Sizes are rounded up to
/// powers of two; what was given back is used again.
class LandingBuffers {
 public:
  /// At least `bytes`, aligned to a cache line, not cleared.
  std::byte* take(std::size_t bytes);
  /// `data` must come from take() and be given back once.
  void give(const std::byte* data) noexcept;

 private:
  struct alignas(64) Header {
    Header* next;
    std::size_t size_class;
  };
  struct Free {
    void operator()(Header* block) const noexcept {
      ::operator delete (block, std::align_val_t{alignof(Header)});
    }
  };
  std::array<Header*, 64> free_{};
  std::vector<std::unique_ptr<Header, Free>> blocks_;
};

}  // namespace commtune::local
