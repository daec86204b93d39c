#pragma once
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "microbench/user_buffer.hpp"

namespace commtune {

/// The memory of one call, writable for filling.
struct CallSlot {
  Call call;
  std::span<std::byte> input, output;
};

/// Bytes of input and output that `call` needs on this rank; with `any_root` as if it were root.
std::uint64_t slot_bytes(const Call&, Rank rank, Rank size, bool any_root);

/// Calls on buffers of their own. Slot k uses the memory k modulo `pairs`; with `rotate_root` its
/// root is k modulo the number of ranks.
class CallSlots {
 public:
  CallSlots(Transport&, const Call& prototype, std::size_t pairs, bool rotate_root, BufferKind);
  const std::vector<CallSlot>& slots() const noexcept { return slots_; }

 private:
  std::vector<UserBuffer> memory_;
  std::vector<CallSlot> slots_;
};

}  // namespace commtune
