#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "transports/local/fabric.hpp"
#include "transports/local/fifo.hpp"
#include "transports/transport.hpp"

namespace commtune::local {

struct PendingSend {
  std::span<const std::byte> data;
  Completion completion{};
};

/// A receive into `into`, or a view when `view` is set.
struct PendingRecv {
  std::byte* into = nullptr;
  View* view = nullptr;
  std::size_t bytes = 0;
  Completion completion{};
};

/// A message that lies in the sender's memory until its receiver gives it back.
struct Unread {
  std::uint64_t number = 0;
  Completion completion{};
};

/// One direction of a pair on one lane, as its sender sees it.
struct SendLane {
  Channel* channel = nullptr;
  std::byte* blocks = nullptr;
  std::byte* cells = nullptr;
  std::uint64_t posted = 0;    ///< messages announced
  std::uint64_t consumed = 0;  ///< last value seen of channel->consumed
  std::uint64_t filled = 0;    ///< cells
  std::size_t offset = 0;      ///< staged bytes of the backlog's front
  Rank peer = 0;
  bool staging = false;  ///< the backlog's front is announced and on its way
  bool active = false;   ///< poll() looks at it
  Fifo<PendingSend> backlog;
  Fifo<Unread> unread;

  bool idle() const noexcept { return backlog.empty() && unread.empty(); }
};

/// One direction of a pair on one lane, as its receiver sees it. Messages below `released` are
/// given back; of those from there to `next`, the ones whose bit is set in `held` are not.
struct RecvLane {
  Channel* channel = nullptr;
  std::byte* blocks = nullptr;
  std::byte* cells = nullptr;
  std::uint64_t next = 0;  ///< number of the message expected next
  std::uint64_t released = 0;
  std::uint64_t published = 0;  ///< value of channel->consumed
  std::uint64_t awaited = 0;    ///< a sender waits for messages below this number to be given back
  std::uint64_t drained = 0;    ///< cells
  std::uint32_t held = 0;       ///< bit number % slots_per_lane: its view is not released
  std::uint32_t landed = 0;     ///< the same: its view lies in a landing buffer
  std::byte* into = nullptr;    ///< where the front of the queue goes
  std::size_t offset = 0;       ///< bytes of the front that arrived
  Rank peer = 0;
  Lane lane = 0;
  bool begun = false;   ///< the front's announcement was read
  bool active = false;  ///< poll() looks at it
  Fifo<PendingRecv> queue;

  static std::uint32_t bit(std::uint64_t number) noexcept {
    return std::uint32_t{1} << (number % slots_per_lane);
  }
  const Slot& slot() const noexcept { return channel->slots[next % slots_per_lane]; }
};
static_assert(slots_per_lane == 32);

/// Whether the memory of a peer's process can be read by system call.
enum class RemoteReads : std::uint8_t { unknown, allowed, refused };

struct Peer {
  SendLane send[lane_count];
  RecvLane recv[lane_count];
  RemoteReads reads = RemoteReads::unknown;
};

}  // namespace commtune::local
