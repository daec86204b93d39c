// The sender's half of a lane.
#include <algorithm>

#include "transports/local/copy.hpp"
#include "transports/local/endpoint.hpp"
#include "transports/local/protocol.hpp"
#include "transports/local/remote.hpp"

namespace commtune::local {

Route Endpoint::route_of(Rank to, std::span<const std::byte> data) {
  if (data.size() <= inline_bytes) return Route::inlined;
  if (fabric_.shared(data)) return Route::mapped;
  return data.size() >= remote_bytes && reads_remotely(to) ? Route::remote : Route::staged;
}

/// Whether `to` may read this process. The kernel's rules are the same in both directions, so
/// trying it the other way round tells without asking `to`.
bool Endpoint::reads_remotely(Rank to) {
  if (!fabric_.remote_reads()) return false;
  Peer& known = peer(to, 0);
  if (known.reads == RemoteReads::unknown) {
    const pid_t process = fabric_.process(to).load(std::memory_order_acquire);
    if (process == 0) return false;
    std::byte probe[8];
    known.reads = read_remote(process, probe, fabric_.base(), sizeof(probe)) == 0
                      ? RemoteReads::allowed
                      : RemoteReads::refused;
  }
  return known.reads == RemoteReads::allowed;
}

void Endpoint::poll_sends() {
  for (std::size_t i = 0; i < active_sends_.size();) {
    SendLane& s = *active_sends_[i];
    progress(s);
    s.active = !s.idle();
    if (s.active) {
      ++i;
    } else {
      active_sends_[i] = active_sends_.back();
      active_sends_.pop_back();
    }
  }
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
    const Route route = route_of(s.peer, front.data);
    announce(s, route, front.data);
    if (route == Route::mapped || route == Route::remote) {
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

/// Fills the cells that are free, once round at most. True when the whole message is in cells.
bool Endpoint::fill_cells(SendLane& s) const noexcept {
  const std::span<const std::byte> data = s.backlog.front().data;
  for (std::size_t i = 0; i < cells_per_lane && s.offset < data.size(); ++i) {
    if (s.filled - s.channel->drained.load(std::memory_order_acquire) == cells_per_lane) break;
    const std::size_t length = std::min(cell_bytes, data.size() - s.offset);
    copy_bytes(s.cells + s.filled % cells_per_lane * cell_bytes, data.data() + s.offset, length);
    s.offset += length;
    s.channel->filled.store(++s.filled, std::memory_order_release);
  }
  return s.offset == data.size();
}

}  // namespace commtune::local
