#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "harness/options.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// The memory of a benchmark's user: registered, from Transport::allocate, or private, as malloc
/// gives it. Zeroed, every page touched, aligned to a page. Move-only.
class UserBuffer {
 public:
  UserBuffer(Transport&, std::size_t bytes, BufferKind);
  std::span<std::byte> bytes() noexcept { return bytes_; }

 private:
  Buffer registered_;
  std::vector<std::byte> private_;
  std::span<std::byte> bytes_;
};

}  // namespace commtune
