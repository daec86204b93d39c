#pragma once
#include <bit>
#include <cstring>

#include "transports/local/copy.hpp"
#include "transports/local/lanes.hpp"

// The steps of the protocol that every message takes. Sender and receiver of a lane share no lock:
// a slot's sequence number hands a message over, `consumed` hands slots and the sender's memory
// back, `filled` and `drained` do the same for the cells of a staged message.
namespace commtune::local {

inline bool has_slot(SendLane& s) noexcept {
  if (s.posted - s.consumed < slots_per_lane) return true;
  s.consumed = s.channel->consumed.load(std::memory_order_acquire);
  return s.posted - s.consumed < slots_per_lane;
}

/// Needs a slot.
inline void announce(SendLane& s, Route route, std::span<const std::byte> data) noexcept {
  const std::size_t index = s.posted % slots_per_lane;
  Slot& slot = s.channel->slots[index];
  slot.header = slot_header(data.size(), route);
  if (route == Route::inlined) {
    std::byte* const into =
        data.size() <= slot_data_bytes ? slot.data : s.blocks + index * block_stride;
    copy_bytes(into, data.data(), data.size());
  } else {
    const std::byte* const address = data.data();
    std::memcpy(slot.data, &address, sizeof(address));
  }
  slot.sequence.store(++s.posted, std::memory_order_release);
}

/// Gives back every message before the first one whose view is held. In batches, so that a small
/// message costs the receiver no extra cache-line transfer, but at once when the sender waits for
/// its memory.
inline void settle(RecvLane& r) noexcept {
  r.released = r.next;
  if (r.held != 0) {
    // Fewer than slots_per_lane messages can follow a held one, so bits from the one after `next`
    // upwards are ascending numbers.
    const auto next = static_cast<int>(r.next % slots_per_lane);
    r.released = r.next - slots_per_lane +
                 static_cast<std::uint64_t>(std::countr_zero(std::rotr(r.held, next)));
  }
  const std::uint64_t unsaid = r.released - r.published;
  if (unsaid >= slots_per_lane / 2 || (unsaid > 0 && r.published < r.awaited)) {
    r.published = r.released;
    r.channel->consumed.store(r.released, std::memory_order_release);
  }
}

/// Moves on to the next message after one that was received by `route`.
inline void take(RecvLane& r, Route route) noexcept {
  ++r.next;
  if (route == Route::mapped || route == Route::remote) r.awaited = r.next;
  settle(r);
}

/// Where the bytes of an inlined, mapped or remote message are; of a remote one in its sender's
/// address space.
inline const std::byte* message_of(const RecvLane& r, const Slot& slot) noexcept {
  if (route_of(slot.header) != Route::inlined) {
    const std::byte* data = nullptr;
    std::memcpy(&data, slot.data, sizeof(data));
    return data;
  }
  if (bytes_of(slot.header) <= slot_data_bytes) return slot.data;
  return r.blocks + r.next % slots_per_lane * block_stride;
}

}  // namespace commtune::local
