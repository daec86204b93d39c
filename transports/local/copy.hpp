#pragma once
#include <cstddef>
#include <cstring>

namespace commtune::local {

/// Copies two overlapping pieces of `Piece` bytes that cover `bytes` (between Piece and 2 * Piece).
template <std::size_t Piece>
inline void copy_ends(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
  std::byte head[Piece], tail[Piece];
  std::memcpy(head, from, Piece);
  std::memcpy(tail, from + bytes - Piece, Piece);
  std::memcpy(into, head, Piece);
  std::memcpy(into + bytes - Piece, tail, Piece);
}

/// memcpy without the call for the sizes at which the call would show.
inline void copy_bytes(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes >= 4 && bytes <= 64) {
    if (bytes >= 32) return copy_ends<32>(into, from, bytes);
    if (bytes >= 16) return copy_ends<16>(into, from, bytes);
    if (bytes >= 8) return copy_ends<8>(into, from, bytes);
    return copy_ends<4>(into, from, bytes);
  }
  if (bytes > 0) std::memcpy(into, from, bytes);
}

}  // namespace commtune::local
