#include "microbench/rotation.hpp"

#include <algorithm>

namespace commtune {
namespace {

constexpr std::size_t line = 64;

std::size_t stride_of(std::size_t message_bytes) noexcept {
  return std::max(line, (message_bytes + line - 1) / line * line);
}

std::byte pattern(std::uint64_t index, std::uint64_t seed, std::uint64_t salt) noexcept {
  std::uint64_t x = index * 0x9e3779b97f4a7c15U + seed * 0xbf58476d1ce4e5b9U + salt + 1;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebU;
  return static_cast<std::byte>(x >> 56);
}

}  // namespace

std::size_t rotation_bytes(std::size_t message_bytes, std::size_t area_bytes) noexcept {
  const std::size_t stride = stride_of(message_bytes);
  return stride * std::max<std::size_t>(1, area_bytes / stride);
}

Rotation::Rotation(Transport& transport, std::size_t message_bytes, std::size_t area_bytes,
                   BufferKind kind)
    : message_bytes_(message_bytes),
      stride_(stride_of(message_bytes)),
      count_(std::max<std::size_t>(1, area_bytes / stride_)),
      buffer_(transport, rotation_bytes(message_bytes, area_bytes), kind) {}

void fill_pattern(std::span<std::byte> data, std::uint64_t seed, std::uint64_t salt) noexcept {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(i, seed, salt);
}

PatternResult check_pattern(std::span<const std::byte> data, std::uint64_t seed,
                            std::uint64_t salt) noexcept {
  PatternResult result;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::byte expected = pattern(i, seed, salt);
    if (data[i] == expected) continue;
    if (result.wrong++ != 0) continue;
    result.first_index = i;
    result.got = std::to_integer<int>(data[i]);
    result.expected = std::to_integer<int>(expected);
  }
  return result;
}

}  // namespace commtune
