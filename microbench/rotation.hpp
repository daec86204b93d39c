#pragma once
#include <cstddef>
#include <cstdint>

#include "microbench/user_buffer.hpp"

namespace commtune {

/// One memory area cut into equal messages, used in turn. `area_bytes` 0 gives a single message.
class Rotation {
 public:
  Rotation(Transport&, std::size_t message_bytes, std::size_t area_bytes, BufferKind);
  std::span<std::byte> at(std::uint64_t index) noexcept {
    return buffer_.bytes().subspan((index % count_) * stride_, message_bytes_);
  }
  std::size_t count() const noexcept { return count_; }

 private:
  std::size_t message_bytes_, stride_, count_;
  UserBuffer buffer_;
};

/// Bytes that a Rotation allocates.
std::size_t rotation_bytes(std::size_t message_bytes, std::size_t area_bytes) noexcept;

/// Data that depends on the position, the seed and `salt`, so that a shifted, stale or foreign
/// message shows.
void fill_pattern(std::span<std::byte> data, std::uint64_t seed, std::uint64_t salt) noexcept;
struct PatternResult {
  std::uint64_t wrong = 0, first_index = 0;
  int got = 0, expected = 0;
};
PatternResult check_pattern(std::span<const std::byte> data, std::uint64_t seed,
                            std::uint64_t salt) noexcept;

}  // namespace commtune
