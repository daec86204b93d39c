#pragma once
#include <memory>
#include <vector>

#include "transports/local/arena.hpp"
#include "transports/local/fabric.hpp"
#include "transports/local/fifo.hpp"
#include "transports/local/landing.hpp"
#include "transports/local/lanes.hpp"
#include "transports/one_sided.hpp"

namespace commtune::local {

/// One rank's end of a Fabric: the `shm` and `threads` transports.
class Endpoint final : public Transport, public OneSided {
 public:
  Endpoint(Fabric& fabric, Rank rank);

  std::string_view name() const noexcept override;
  Capabilities capabilities() const noexcept override;
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return fabric_.size(); }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  void post_view(Rank from, Lane, std::size_t bytes, View& view, Completion) override;
  void release_view(const View&) noexcept override;
  std::size_t poll() override;
  void send(Rank to, std::span<const std::byte> data) override;
  void recv(Rank from, std::span<std::byte> data) override;
  bool shares(std::span<const std::byte> data) const noexcept override {
    return fabric_.shared(data);
  }
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* data, std::size_t bytes) noexcept override;
  OneSided* one_sided() noexcept override { return this; }
  std::unique_ptr<Region> allocate_region(Bootstrap&, std::size_t bytes) override;
  bool crowded() const noexcept override { return fabric_.crowded(); }

 private:
  friend class LocalRegion;

  /// A lane with receives, and the flag that changes when the first of them can go on.
  struct Watch {
    const std::atomic<std::uint64_t>* flag;
    std::uint64_t value;
    RecvLane* lane;
  };

  Peer& peer(Rank other, Lane lane) {
    const auto index = static_cast<std::size_t>(static_cast<std::uint32_t>(other));
    if (index < peers_.size() && lane < lane_count) {
      if (Peer* const known = peers_[index].get()) return *known;
    }
    return make_peer(other, lane);
  }
  Peer& make_peer(Rank other, Lane lane);
  void watch(RecvLane& r) {
    if (r.active) return;
    r.active = true;
    watches_.push_back({&r.slot().sequence, r.next + 1, &r});
  }
  void watch(SendLane& s) {
    if (s.active) return;
    s.active = true;
    active_sends_.push_back(&s);
  }
  bool quiet() const noexcept {
    return active_sends_.empty() && watches_.empty() && ready_.empty();
  }

  // Sending: send_progress.cpp
  Route route_of(Rank to, std::span<const std::byte> data);
  bool reads_remotely(Rank to);
  bool advance(SendLane&);
  bool fill_cells(SendLane&) const noexcept;
  void progress(SendLane&);
  void poll_sends();

  // Receiving: recv_progress.cpp
  std::size_t poll_recvs();
  std::size_t receive(RecvLane&);
  bool receive_front(RecvLane&);
  bool transfer(RecvLane&, const Slot&, PendingRecv&);
  bool copy_piece(RecvLane&, const std::byte* from, std::size_t bytes) const noexcept;
  bool read_piece(RecvLane&, const std::byte* from, std::size_t bytes) const;
  bool drain_cells(RecvLane&, std::size_t bytes) const noexcept;
  [[noreturn]] void refuse_size(const RecvLane&, std::size_t sent, std::size_t expected) const;
  std::size_t report_sends() noexcept;

  Fabric& fabric_;
  Rank rank_;
  Arena arena_;
  LandingBuffers landing_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<SendLane*> active_sends_;
  std::vector<Watch> watches_;
  Fifo<Completion> ready_;  ///< sends that are finished and not reported
};

}  // namespace commtune::local
