#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "core/error.hpp"

namespace commtune::test {

/// Memory for calls one after another. Every buffer lies between guards of poisoned bytes.
class GuardedMemory {
 public:
  static constexpr std::size_t guard_bytes = 64;
  static constexpr std::byte poison{0x5A};

  /// `shared`: memory of the transport; otherwise of this process alone. `bytes` as call_bytes()
  /// says.
  GuardedMemory(Transport& transport, bool shared, std::uint64_t bytes) {
    if (shared) {
      shared_ = Buffer(transport, bytes);
      memory_ = shared_.bytes();
    } else {
      private_.resize(bytes);
      memory_ = private_;
    }
  }

  /// Bytes that bind() needs for `call`.
  static std::uint64_t call_bytes(const Call& call, Rank size, Rank rank) {
    return memory_bytes(call, size, rank) + 6 * guard_bytes;
  }

  /// Binds `call`, its buffers `shift` (less than 64) bytes beyond a cache line.
  CallMemory bind(Call& call, Rank size, Rank rank, std::size_t shift) {
    guards_.clear();
    const std::uint64_t input = input_bytes(call, size, rank);
    const std::uint64_t output = output_bytes(call, size, rank);
    if (call.in_place) {
      return place(call, region(guard_bytes + shift, std::max(input, output)), size, rank);
    }
    CallMemory placed;
    placed.input = region(guard_bytes + shift, input);
    placed.output = region((input + 63) / 64 * 64 + 3 * guard_bytes + shift, output);
    call.input = placed.input;
    call.output = placed.output;
    return placed;
  }

  /// Throws Error(wrong_result), starting with `what`, when a byte beside a buffer was written.
  void check(const std::string& what) const {
    for (const auto& guard : guards_) {
      for (std::size_t i = 0; i < guard.size(); ++i) {
        if (guard[i] == poison) continue;
        fail(Errc::wrong_result, "{}: byte {} of a guard beside a buffer was written", what, i);
      }
    }
  }

 private:
  std::span<std::byte> region(std::uint64_t at, std::uint64_t bytes) {
    guards_.push_back(memory_.subspan(at - guard_bytes, guard_bytes));
    guards_.push_back(memory_.subspan(at + bytes, guard_bytes));
    for (const auto& guard : guards_) std::fill(guard.begin(), guard.end(), poison);
    return memory_.subspan(at, bytes);
  }

  Buffer shared_;
  std::vector<std::byte> private_;
  std::span<std::byte> memory_;
  std::vector<std::span<std::byte>> guards_;
};

}  // namespace commtune::test
