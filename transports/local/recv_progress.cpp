// The receiver's half of a lane.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "transports/local/copy.hpp"
#include "transports/local/endpoint.hpp"
#include "transports/local/protocol.hpp"
#include "transports/local/remote.hpp"

namespace commtune::local {

/// True when the front of the queue has arrived and the lane has moved on.
inline bool Endpoint::receive_front(RecvLane& r) {
  const Slot& slot = r.slot();
  PendingRecv& front = r.queue.front();
  if (r.begun) return transfer(r, slot, front);
  if (slot.sequence.load(std::memory_order_acquire) != r.next + 1) return false;
  const Route route = local::route_of(slot.header);
  if (bytes_of(slot.header) != front.bytes) refuse_size(r, bytes_of(slot.header), front.bytes);
  if (front.view != nullptr && (route == Route::inlined || route == Route::mapped)) {
    front.view->data = message_of(r, slot);
    front.view->number = r.next;
    r.held |= RecvLane::bit(r.next);
  } else if (route == Route::inlined) {
    copy_bytes(front.into, message_of(r, slot), front.bytes);
  } else {
    r.into = front.view != nullptr ? landing_.take(front.bytes) : front.into;
    r.offset = 0;
    r.begun = true;
    return transfer(r, slot, front);
  }
  take(r, route);
  return true;
}

/// Reports what has arrived for the receives that were posted before the call. Completions may post
/// more on the same lane.
inline std::size_t Endpoint::receive(RecvLane& r) {
  const std::size_t posted = r.queue.size();
  std::size_t finished = 0;
  for (; finished < posted && receive_front(r); ++finished) {
    const Completion completion = r.queue.front().completion;
    r.queue.pop();
    completion.sink->complete(completion.id);
  }
  return finished;
}

std::size_t Endpoint::poll_recvs() {
  std::size_t finished = 0;
  for (std::size_t i = 0; i < watches_.size();) {
    const Watch seen = watches_[i];
    if (seen.flag->load(std::memory_order_acquire) != seen.value) {
      ++i;
      continue;
    }
    RecvLane& r = *seen.lane;
    finished += receive(r);
    r.active = !r.queue.empty();
    if (r.active) {
      watches_[i++] = {&r.slot().sequence, r.next + 1, &r};
    } else {
      watches_[i] = watches_.back();
      watches_.pop_back();
    }
  }
  return finished;
}

/// Goes on with a message that takes more than one look. True when it is complete.
[[gnu::noinline]] bool Endpoint::transfer(RecvLane& r, const Slot& slot, PendingRecv& front) {
  bool whole = true;
  const Route route = local::route_of(slot.header);
  switch (route) {
    case Route::inlined:
      break;
    case Route::mapped:
      whole = copy_piece(r, message_of(r, slot), front.bytes);
      break;
    case Route::remote:
      whole = read_piece(r, message_of(r, slot), front.bytes);
      break;
    case Route::staged:
      whole = drain_cells(r, front.bytes);
      break;
  }
  if (!whole) return false;
  r.begun = false;
  if (front.view != nullptr) {
    front.view->data = r.into;
    front.view->number = r.next;
    r.held |= RecvLane::bit(r.next);
    r.landed |= RecvLane::bit(r.next);
  }
  take(r, route);
  return true;
}

bool Endpoint::copy_piece(RecvLane& r, const std::byte* from, std::size_t bytes) const noexcept {
  const std::size_t length = std::min(piece_bytes, bytes - r.offset);
  std::memcpy(r.into + r.offset, from + r.offset, length);
  r.offset += length;
  return r.offset == bytes;
}

bool Endpoint::read_piece(RecvLane& r, const std::byte* from, std::size_t bytes) const {
  const std::size_t length = std::min(piece_bytes, bytes - r.offset);
  const pid_t process = fabric_.process(r.peer).load(std::memory_order_relaxed);
  const int error = read_remote(process, r.into + r.offset, from + r.offset, length);
  // The supervisor of a job knows best how a process ended, and poll() will hear of it.
  if (error == ESRCH) return false;
  if (error != 0) {
    fail(Errc::system,
         "rank {} cannot read {} bytes of rank {} (process {}): {}; set COMMTUNE_REMOTE_READS=0",
         rank_, length, r.peer, process, std::strerror(error));
  }
  r.offset += length;
  return r.offset == bytes;
}

/// Empties the cells that are full, once round at most. True when the whole message has arrived.
bool Endpoint::drain_cells(RecvLane& r, std::size_t bytes) const noexcept {
  for (std::size_t i = 0; i < cells_per_lane && r.offset < bytes; ++i) {
    if (r.channel->filled.load(std::memory_order_acquire) == r.drained) break;
    const std::size_t length = std::min(cell_bytes, bytes - r.offset);
    copy_bytes(r.into + r.offset, r.cells + r.drained % cells_per_lane * cell_bytes, length);
    r.offset += length;
    r.channel->drained.store(++r.drained, std::memory_order_release);
  }
  return r.offset == bytes;
}

[[gnu::cold, gnu::noinline]] void Endpoint::refuse_size(const RecvLane& r, std::size_t sent,
                                                        std::size_t expected) const {
  fail(Errc::peer, "rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}", r.peer,
       sent, rank_, expected, r.lane);
}

}  // namespace commtune::local
