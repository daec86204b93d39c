// The message protocol of one lane. Sender and receiver share no lock: the slot's sequence number
// hands a message over, `consumed` hands slots (and mapped buffers) back, `filled` and `drained` do
// the same for the cells of a staged message.
#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "transports/local/endpoint.hpp"

namespace commtune::local {

namespace {
void copy_bytes(std::byte* into, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(into, from, bytes);
}
}  // namespace

Route Endpoint::route_of(std::span<const std::byte> data) const noexcept {
  if (data.size() <= inline_bytes) return Route::inlined;
  return fabric_.shared(data.data()) ? Route::mapped : Route::staged;
}

bool Endpoint::has_slot(SendLane& s) const noexcept {
  if (s.posted - s.consumed < slots_per_lane) return true;
  s.consumed = s.channel->consumed.load(std::memory_order_acquire);
  return s.posted - s.consumed < slots_per_lane;
}

void Endpoint::announce(SendLane& s, Route route, std::span<const std::byte> data) const noexcept {
  Slot& slot = s.channel->slots[s.posted % slots_per_lane];
  slot.header = data.size() << 2U | static_cast<std::uint64_t>(route);
  if (route == Route::inlined) {
    copy_bytes(slot.data, data.data(), data.size());
  } else if (route == Route::mapped) {
    const std::byte* const address = data.data();
    std::memcpy(slot.data, &address, sizeof(address));
  }
  slot.sequence.store(++s.posted, std::memory_order_release);
}

void Endpoint::progress(SendLane& s) {
  if (!s.unread.empty()) {
    s.consumed = s.channel->consumed.load(std::memory_order_acquire);
    while (!s.unread.empty() && s.unread.front().number < s.consumed) {
      ready_.push(s.unread.front().completion);
      s.unread.pop();
    }
  }
  while (!s.backlog.empty() && advance(s)) s.backlog.pop();
}

/// True when the front of the backlog needs the backlog no longer.
bool Endpoint::advance(SendLane& s) {
  const PendingSend& front = s.backlog.front();
  if (!s.staging) {
    if (!has_slot(s)) return false;
    const Route route = route_of(front.data);
    announce(s, route, front.data);
    if (route == Route::mapped) {
      s.unread.push({s.posted - 1, front.completion});
      return true;
    }
    s.staging = route == Route::staged;
    s.offset = 0;
  }
  if (s.staging && !fill_cells(s)) return false;
  s.staging = false;
  ready_.push(front.completion);
  return true;
}

bool Endpoint::fill_cells(SendLane& s) const noexcept {
  const std::span<const std::byte> data = s.backlog.front().data;
  while (s.offset < data.size()) {
    if (s.filled - s.channel->drained.load(std::memory_order_acquire) == cells_per_lane) {
      return false;
    }
    const std::size_t length = std::min(cell_bytes, data.size() - s.offset);
    copy_bytes(s.cells + s.filled % cells_per_lane * cell_bytes, data.data() + s.offset, length);
    s.offset += length;
    s.channel->filled.store(++s.filled, std::memory_order_release);
  }
  return true;
}

void Endpoint::progress(RecvLane& r) {
  while (!r.queue.empty() && receive_front(r)) {
    ready_.push(r.queue.front().completion);
    r.queue.pop();
  }
}

bool Endpoint::receive_front(RecvLane& r) {
  const std::span<std::byte> into = r.queue.front().data;
  const Slot& slot = r.channel->slots[r.next % slots_per_lane];
  if (!r.staging) {
    if (slot.sequence.load(std::memory_order_acquire) != r.next + 1) return false;
    open(r, slot, into);
    r.staging = static_cast<Route>(slot.header & 3U) == Route::staged;
    r.offset = 0;
  }
  if (r.staging && !drain_cells(r, into)) return false;
  r.staging = false;
  consume(r, static_cast<Route>(slot.header & 3U) == Route::mapped);
  return true;
}

bool Endpoint::drain_cells(RecvLane& r, std::span<std::byte> into) const noexcept {
  while (r.offset < into.size()) {
    if (r.channel->filled.load(std::memory_order_acquire) == r.drained) return false;
    const std::size_t length = std::min(cell_bytes, into.size() - r.offset);
    copy_bytes(into.data() + r.offset, r.cells + r.drained % cells_per_lane * cell_bytes, length);
    r.offset += length;
    r.channel->drained.store(++r.drained, std::memory_order_release);
  }
  return true;
}

/// Checks the size and copies what the slot holds or points at.
void Endpoint::open(const RecvLane& r, const Slot& slot, std::span<std::byte> into) const {
  const std::uint64_t bytes = slot.header >> 2U;
  if (bytes != into.size()) {
    fail(Errc::peer, "rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}",
         r.peer, bytes, rank_, into.size(), r.lane);
  }
  switch (static_cast<Route>(slot.header & 3U)) {
    case Route::inlined:
      copy_bytes(into.data(), slot.data, into.size());
      break;
    case Route::mapped: {
      const std::byte* from = nullptr;
      std::memcpy(&from, slot.data, sizeof(from));
      copy_bytes(into.data(), from, into.size());
      break;
    }
    case Route::staged:
      break;
  }
}

/// Hands slots back in batches, so that a small message costs the receiver no extra cache-line
/// transfer, but at once when the sender waits for its buffer.
void Endpoint::consume(RecvLane& r, bool at_once) const noexcept {
  ++r.next;
  if (at_once || r.next - r.published >= slots_per_lane / 2) {
    r.published = r.next;
    r.channel->consumed.store(r.next, std::memory_order_release);
  }
}

}  // namespace commtune::local
