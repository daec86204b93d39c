#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/types.hpp"

namespace commtune {

/// An independent matching queue between every pair of ranks: the k-th send on a lane matches the
/// k-th receive on it, whatever other lanes do. Operations in flight together use different lanes.
using Lane = std::uint32_t;
inline constexpr Lane lane_count = 32;

/// Told of finished transfers from inside Transport::poll. May post transfers, must not poll, must
/// not throw and must not allocate.
class Sink {
 public:
  virtual void complete(std::uint32_t id) noexcept = 0;

 protected:
  ~Sink() = default;
};

/// Who to tell and what to say when a transfer is finished.
struct Completion {
  Sink* sink;
  std::uint32_t id;
};

/// A message that is read where it lies: in the sender's memory, or in the transport's own.
struct View {
  const std::byte* data = nullptr;  ///< set when the message has arrived
  Rank from = 0;
  Lane lane = 0;
  std::uint64_t number = 0;  ///< of the message on its lane
};

/// What a transport can do; callers ask before they rely on it.
struct Capabilities {
  bool views = false;           ///< post_view() works
  bool mapped_memory = false;   ///< allocate() gives memory that peers read in place (one copy)
  bool simulated_time = false;  ///< now_ns() is virtual
  /// From this size on, a message from memory that peers cannot read in place still costs only one
  /// copy; 0: it never does.
  std::size_t single_copy_bytes = 0;
  std::size_t eager_bytes = 0;  ///< a send up to this size completes without its receiver
  /// Any thread may post and poll, one at a time; otherwise only the one that created the rank.
  bool any_thread = false;
};

class Bootstrap;
class OneSided;
struct WorkRates;

/// Moves bytes between ranks; knows no collective. One thread at a time per rank object. post_* and
/// poll allocate nothing once every peer has been used. Failures throw Error.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual Capabilities capabilities() const noexcept = 0;
  virtual Rank rank() const noexcept = 0;
  virtual Rank size() const noexcept = 0;

  /// `data` must stay valid and unchanged until completion. Zero bytes are a real message.
  /// `to` may not be the caller's own rank.
  virtual void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) = 0;
  /// `data.size()` must equal the matching send's size; a difference throws Error(peer) naming
  /// both.
  virtual void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) = 0;
  /// Like post_recv, but nothing is copied: on completion `view.data` tells where the message can
  /// be read until release_view(view). `view` must stay where it is until then. Only where
  /// capabilities().views; a transport without them throws Error(usage).
  virtual void post_view(Rank from, Lane, std::size_t bytes, View& view, Completion);
  /// Views may be released in any order; the matching send completes after its view's release.
  virtual void release_view(const View&) noexcept;
  /// Drives progress and reports finished transfers; returns how many. Never blocks. Throws
  /// Error(peer) once another rank has failed.
  virtual std::size_t poll() = 0;

  /// Blocking forms on lane 0, for point-to-point tests: what a user of the library would call.
  virtual void send(Rank to, std::span<const std::byte> data);
  virtual void recv(Rank from, std::span<std::byte> data);

  /// Page-aligned, zeroed memory that this transport moves fastest; freed by deallocate. The
  /// default is ordinary memory.
  virtual std::byte* allocate(std::size_t bytes);
  virtual void deallocate(std::byte* data, std::size_t bytes) noexcept;
  /// True when peers can read `data` in place, as views of it do without a copy.
  virtual bool shares(std::span<const std::byte> data) const noexcept;

  /// Access to memory of other ranks without their help (transports/one_sided.hpp); null where
  /// there is none.
  virtual OneSided* one_sided() noexcept { return nullptr; }

  /// The clock of measurements, in nanoseconds; the default is monotonic_ns().
  virtual std::int64_t now_ns() const noexcept;
  /// Set where time is simulated and local work is charged: who does local work calls elapse() with
  /// what it takes at these rates. Null elsewhere: work takes the time that it takes.
  virtual const WorkRates* work_rates() const noexcept { return nullptr; }
  /// Simulated time passes by the length of local work; real time does so without us.
  virtual void elapse(double /*ns*/) {}

  /// True when ranks outnumber the processors they may use, so waits should yield early.
  virtual bool crowded() const noexcept = 0;
};

/// Owns bytes from Transport::allocate, every page touched. Move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Transport& transport, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<std::byte> bytes() noexcept { return {data_, bytes_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, bytes_}; }

 private:
  Transport* transport_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace commtune
