#include "transports/local/endpoint.hpp"

#include <unistd.h>

#include "core/backoff.hpp"
#include "core/error.hpp"
#include "transports/local/copy.hpp"
#include "transports/local/protocol.hpp"
#include "transports/local/remote.hpp"

namespace commtune::local {

Endpoint::Endpoint(Fabric& fabric, Rank rank)
    : fabric_(fabric),
      rank_(rank),
      arena_(fabric.arena(rank), fabric.huge_pages()),
      peers_(static_cast<std::size_t>(fabric.size())) {
  if (fabric.remote_reads()) permit_reads_by_siblings();
  fabric.process(rank).store(getpid(), std::memory_order_release);
}

std::string_view Endpoint::name() const noexcept {
  return fabric_.kind() == Fabric::Kind::threads ? "threads" : "shm";
}

Capabilities Endpoint::capabilities() const noexcept {
  return {.views = true,
          .mapped_memory = true,
          .simulated_time = false,
          .single_copy_bytes = fabric_.remote_reads() ? remote_bytes : 0,
          .eager_bytes = inline_bytes,
          .any_thread = true};
}

Peer& Endpoint::make_peer(Rank other, Lane lane) {
  require(other >= 0 && other < size(), "rank {} is not one of the {} ranks", other, size());
  require(other != rank_, "rank {} cannot send to or receive from itself", rank_);
  require(lane < lane_count, "lane {} is not one of the {} lanes", lane, lane_count);
  auto made = std::make_unique<Peer>();
  for (Lane l = 0; l < lane_count; ++l) {
    SendLane& s = made->send[l];
    s.channel = &fabric_.channel(rank_, other, l);
    s.blocks = fabric_.blocks(rank_, other, l);
    s.cells = fabric_.cells(rank_, other, l);
    s.peer = other;
    RecvLane& r = made->recv[l];
    r.channel = &fabric_.channel(other, rank_, l);
    r.blocks = fabric_.blocks(other, rank_, l);
    r.cells = fabric_.cells(other, rank_, l);
    r.peer = other;
    r.lane = l;
  }
  active_sends_.reserve(active_sends_.capacity() + lane_count);
  watches_.reserve(watches_.capacity() + lane_count);
  return *(peers_[static_cast<std::size_t>(other)] = std::move(made));
}

void Endpoint::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                         Completion completion) {
  SendLane& s = peer(to, lane).send[lane];
  if (s.backlog.empty() && has_slot(s)) {
    if (data.size() <= inline_bytes) {
      announce(s, Route::inlined, data);
      ready_.push(completion);
      return;
    }
    const Route route = route_of(to, data);
    if (route != Route::staged) {
      announce(s, route, data);
      s.unread.push({s.posted - 1, completion});
      return watch(s);
    }
  }
  s.backlog.push({data, completion});
  progress(s);
  if (!s.idle()) watch(s);
}

void Endpoint::post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion completion) {
  RecvLane& r = peer(from, lane).recv[lane];
  r.queue.push({data.data(), nullptr, data.size(), completion});
  watch(r);
}

void Endpoint::post_view(Rank from, Lane lane, std::size_t bytes, View& view,
                         Completion completion) {
  RecvLane& r = peer(from, lane).recv[lane];
  view = {nullptr, from, lane, 0};
  r.queue.push({nullptr, &view, bytes, completion});
  watch(r);
}

void Endpoint::release_view(const View& view) noexcept {
  RecvLane& r = peers_[static_cast<std::size_t>(view.from)]->recv[view.lane];
  const std::uint32_t bit = RecvLane::bit(view.number);
  if ((r.landed & bit) != 0) landing_.give(view.data);
  r.landed &= ~bit;
  r.held &= ~bit;
  settle(r);
}

std::size_t Endpoint::poll() {
  std::size_t finished = poll_recvs();
  if (!active_sends_.empty()) poll_sends();
  if (!ready_.empty()) finished += report_sends();
  if (finished == 0) fabric_.board().throw_if_failed();
  return finished;
}

std::size_t Endpoint::report_sends() noexcept {
  // Completions may post; what that finishes is reported by the next poll.
  const std::size_t finished = ready_.size();
  for (std::size_t i = 0; i < finished; ++i) {
    const Completion completion = ready_.front();
    ready_.pop();
    completion.sink->complete(completion.id);
  }
  return finished;
}

void Endpoint::send(Rank to, std::span<const std::byte> data) {
  SendLane& s = peer(to, 0).send[0];
  const Route route = quiet() ? route_of(to, data) : Route::staged;
  if (route != Route::inlined && route != Route::mapped) return Transport::send(to, data);
  Backoff backoff(crowded());
  while (!has_slot(s)) {
    if (backoff.pause()) fabric_.board().throw_if_failed();
  }
  announce(s, route, data);
  if (route == Route::inlined) return;
  backoff.reset();
  while ((s.consumed = s.channel->consumed.load(std::memory_order_acquire)) < s.posted) {
    if (backoff.pause()) fabric_.board().throw_if_failed();
  }
}

void Endpoint::recv(Rank from, std::span<std::byte> data) {
  RecvLane& r = peer(from, 0).recv[0];
  if (!quiet()) return Transport::recv(from, data);
  const Slot& slot = r.slot();
  Backoff backoff(crowded());
  while (slot.sequence.load(std::memory_order_acquire) != r.next + 1) {
    if (backoff.pause()) fabric_.board().throw_if_failed();
  }
  const Route route = local::route_of(slot.header);
  if (route != Route::inlined && route != Route::mapped) return Transport::recv(from, data);
  if (bytes_of(slot.header) != data.size()) refuse_size(r, bytes_of(slot.header), data.size());
  copy_bytes(data.data(), message_of(r, slot), data.size());
  take(r, route);
}

std::byte* Endpoint::allocate(std::size_t bytes) {
  std::byte* const data = arena_.allocate(bytes);
  if (data == nullptr) {
    fail(Errc::system, "rank {} cannot allocate {} bytes: its shared arena of {} bytes is used up",
         rank_, bytes, fabric_.arena(rank_).size());
  }
  return data;
}

void Endpoint::deallocate(std::byte* data, std::size_t bytes) noexcept {
  arena_.deallocate(data, bytes);
}

}  // namespace commtune::local
