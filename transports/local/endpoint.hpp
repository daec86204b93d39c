#pragma once
#include <memory>
#include <vector>

#include "transports/local/arena.hpp"
#include "transports/local/fabric.hpp"
#include "transports/local/fifo.hpp"
#include "transports/transport.hpp"

namespace commtune::local {

/// One rank's end of a Fabric: the `shm` and `threads` transports.
class Endpoint final : public Transport {
 public:
  Endpoint(Fabric& fabric, Rank rank);

  std::string_view name() const noexcept override;
  Capabilities capabilities() const noexcept override;
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return fabric_.size(); }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  std::size_t poll() override;
  void send(Rank to, std::span<const std::byte> data) override;
  void recv(Rank from, std::span<std::byte> data) override;
  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* data, std::size_t bytes) noexcept override;
  bool crowded() const noexcept override { return fabric_.crowded(); }

 private:
  struct PendingSend {
    std::span<const std::byte> data;
    Completion completion;
  };
  struct PendingRecv {
    std::span<std::byte> data;
    Completion completion;
  };
  struct Unread {  ///< a mapped message that its receiver has not copied yet
    std::uint64_t number;
    Completion completion;
  };
  struct SendLane {
    Channel* channel = nullptr;
    std::byte* cells = nullptr;
    std::uint64_t posted = 0;    ///< messages announced
    std::uint64_t consumed = 0;  ///< last value seen of channel->consumed
    std::uint64_t filled = 0;    ///< cells
    std::size_t offset = 0;      ///< staged bytes of the backlog's front
    bool staging = false;        ///< the backlog's front is announced and on its way
    bool active = false;
    Fifo<PendingSend> backlog;
    Fifo<Unread> unread;
  };
  struct RecvLane {
    Channel* channel = nullptr;
    std::byte* cells = nullptr;
    std::uint64_t next = 0;       ///< number of the message expected next
    std::uint64_t published = 0;  ///< value of channel->consumed
    std::uint64_t drained = 0;    ///< cells
    std::size_t offset = 0;
    bool staging = false;
    bool active = false;
    Rank peer = 0;
    Lane lane = 0;
    Fifo<PendingRecv> queue;
  };
  struct Peer {
    SendLane send[lane_count];
    RecvLane recv[lane_count];
  };

  Peer& peer(Rank other, Lane lane);
  Peer& make_peer(Rank other, Lane lane);
  Route route_of(std::span<const std::byte> data) const noexcept;
  bool has_slot(SendLane&) const noexcept;
  void announce(SendLane&, Route, std::span<const std::byte> data) const noexcept;
  bool advance(SendLane&);
  bool fill_cells(SendLane&) const noexcept;
  void progress(SendLane&);
  void progress(RecvLane&);
  bool receive_front(RecvLane&);
  bool drain_cells(RecvLane&, std::span<std::byte> into) const noexcept;
  void open(const RecvLane&, const Slot&, std::span<std::byte> into) const;
  void consume(RecvLane&, bool at_once) const noexcept;
  bool quiet() const noexcept {
    return active_sends_.empty() && active_recvs_.empty() && ready_.empty();
  }

  Fabric& fabric_;
  Rank rank_;
  Arena arena_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<SendLane*> active_sends_;
  std::vector<RecvLane*> active_recvs_;
  Fifo<Completion> ready_;
};

}  // namespace commtune::local
