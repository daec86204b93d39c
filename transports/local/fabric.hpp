#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "transports/local/board.hpp"
#include "transports/local/limits.hpp"
#include "transports/transport.hpp"

namespace commtune::local {

/// How a message's bytes travel: with its announcement, read by the receiver in the sender's own
/// memory (in place, or by system call in a process that shares it with nobody), or through the
/// lane's cells.
enum class Route : std::uint8_t { inlined, mapped, remote, staged };

/// One message announcement. The first 48 bytes of data share a cache line with the sequence
/// number, so that a small message costs one line.
struct alignas(256) Slot {
  std::atomic<std::uint64_t> sequence;  ///< 1 + number of the message in the slot
  std::uint64_t header;                 ///< bytes << 2 | route
  std::byte data[slot_data_bytes];      ///< payload, or the address of a message
};
static_assert(sizeof(Slot) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::uint64_t slot_header(std::size_t bytes, Route route) noexcept {
  return bytes << 2U | static_cast<std::uint64_t>(route);
}
constexpr Route route_of(std::uint64_t header) noexcept { return static_cast<Route>(header & 3U); }
constexpr std::size_t bytes_of(std::uint64_t header) noexcept { return header >> 2U; }

/// Shared state of one direction of a pair on one lane. All-zero is the initial state, so pages of
/// lanes that are never used are never touched.
struct Channel {
  Slot slots[slots_per_lane];
  alignas(128) std::atomic<std::uint64_t> consumed;  ///< messages; receiver writes
  alignas(128) std::atomic<std::uint64_t> filled;    ///< cells; sender writes
  alignas(128) std::atomic<std::uint64_t> drained;   ///< cells; receiver writes
};

/// The memory through which the ranks of one host move bytes, mapped before they start so that
/// addresses are the same in every rank.
class Fabric {
 public:
  enum class Kind : std::uint8_t { processes, threads };

  /// For the ranks of `board`, which must outlive it. Throws Error(system) when the segment cannot
  /// be mapped. The environment variable COMMTUNE_REMOTE_READS=0 forbids Route::remote.
  Fabric(Kind kind, const Board& board, bool crowded);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  Kind kind() const noexcept { return kind_; }
  const Board& board() const noexcept { return board_; }
  Rank size() const noexcept { return board_.size(); }
  bool crowded() const noexcept { return crowded_; }

  Channel& channel(Rank from, Rank to, Lane lane) const noexcept {
    return channels_[index(from, to, lane)];
  }
  /// One block of inline_bytes per slot, for inlined messages that the slot is too small for.
  std::byte* blocks(Rank from, Rank to, Lane lane) const noexcept {
    return blocks_ + index(from, to, lane) * slots_per_lane * block_stride;
  }
  std::byte* cells(Rank from, Rank to, Lane lane) const noexcept {
    return cells_ + index(from, to, lane) * cells_per_lane * cell_bytes;
  }
  std::span<std::byte> arena(Rank rank) const noexcept {
    return {arenas_ + static_cast<std::size_t>(rank) * arena_bytes_, arena_bytes_};
  }
  /// True when every rank can read `data` at its address.
  bool shared(std::span<const std::byte> data) const noexcept {
    return kind_ == Kind::threads ||
           (data.data() >= arenas_ && data.data() + data.size() <= arenas_end_);
  }
  /// True when the kernel may back large blocks of an arena with huge pages.
  bool huge_pages() const noexcept { return huge_pages_; }

  /// The process of each rank, 0 until it has started and can be read from.
  std::atomic<std::int32_t>& process(Rank rank) const noexcept { return processes_[rank]; }
  bool remote_reads() const noexcept { return remote_reads_; }
  /// An address that every rank can read, with at least a page behind it.
  const std::byte* base() const noexcept { return base_; }

 private:
  std::size_t index(Rank from, Rank to, Lane lane) const noexcept {
    return (static_cast<std::size_t>(from) * static_cast<std::size_t>(size()) +
            static_cast<std::size_t>(to)) *
               lane_count +
           lane;
  }
  void map(std::size_t fixed_bytes);
  void make_arenas_private();

  Kind kind_;
  const Board& board_;
  bool crowded_, remote_reads_, huge_pages_;
  std::byte* base_ = nullptr;
  std::size_t mapped_bytes_ = 0, arena_bytes_ = 0;
  std::atomic<std::int32_t>* processes_ = nullptr;
  Channel* channels_ = nullptr;
  std::byte *blocks_ = nullptr, *cells_ = nullptr, *arenas_ = nullptr, *arenas_end_ = nullptr;
};

}  // namespace commtune::local
