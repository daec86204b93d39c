#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace commtune::local {

/// First-fit allocator of page-aligned, zeroed blocks inside one rank's part of the shared segment.
/// Freed pages stay resident and are cleared on reuse: touching a new page costs far more than
/// clearing an old one.
class Arena {
 public:
  /// With `huge_pages`, blocks of at least a huge page begin on one and ask the kernel for them.
  /// Smaller blocks are packed, so that touching one never touches a whole huge page.
  explicit Arena(std::span<std::byte> memory, bool huge_pages = false);
  /// nullptr when no gap is large enough.
  std::byte* allocate(std::size_t bytes);
  void deallocate(std::byte* data, std::size_t bytes) noexcept;

 private:
  struct Gap {
    std::size_t begin, end;
  };
  std::span<std::byte> memory_;
  bool huge_pages_;
  std::vector<Gap> gaps_;  ///< ascending, never adjacent
  std::size_t fresh_ = 0;  ///< nothing at or above this offset was ever handed out
};

}  // namespace commtune::local
