#include "microbench/call_slots.hpp"

#include <algorithm>

namespace commtune {
namespace {

Call as_root(Call call, Rank rank, bool any_root) {
  if (any_root && rooted(call.collective)) call.root = rank;
  return call;
}

}  // namespace

std::uint64_t slot_bytes(const Call& call, Rank rank, Rank size, bool any_root) {
  std::uint64_t most = memory_bytes(call, size, rank);
  if (any_root) most = std::max(most, memory_bytes(as_root(call, rank, true), size, rank));
  return most;
}

CallSlots::CallSlots(Transport& transport, const Call& prototype, std::size_t pairs,
                     bool rotate_root, BufferKind kind) {
  const Rank rank = transport.rank();
  const Rank size = transport.size();
  const std::uint64_t bytes = slot_bytes(prototype, rank, size, rotate_root);
  for (std::size_t i = 0; i < pairs; ++i) memory_.emplace_back(transport, bytes, kind);
  const std::size_t roots = rotate_root ? static_cast<std::size_t>(size) : 1;
  const std::size_t count = std::max(pairs, roots);
  for (std::size_t k = 0; k < count; ++k) {
    CallSlot slot{prototype, {}, {}};
    if (rotate_root) slot.call.root = static_cast<Rank>(k % roots);
    const CallMemory placed = place(slot.call, memory_[k % pairs].bytes(), size, rank);
    slot.input = placed.input;
    slot.output = placed.output;
    slots_.push_back(slot);
  }
}

}  // namespace commtune
