#include "transports/local/endpoint.hpp"

#include <cstring>

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace commtune::local {

Endpoint::Endpoint(Fabric& fabric, Rank rank)
    : fabric_(fabric),
      rank_(rank),
      arena_(fabric.arena(rank)),
      peers_(static_cast<std::size_t>(fabric.size())) {}

std::string_view Endpoint::name() const noexcept {
  return fabric_.kind() == Fabric::Kind::threads ? "threads" : "shm";
}

Capabilities Endpoint::capabilities() const noexcept {
  return {.mapped_memory = true, .simulated_time = false, .eager_bytes = inline_bytes};
}

Endpoint::Peer& Endpoint::peer(Rank other, Lane lane) {
  if (other >= 0 && other < size() && lane < lane_count) {
    if (Peer* const known = peers_[static_cast<std::size_t>(other)].get()) return *known;
  }
  return make_peer(other, lane);
}

Endpoint::Peer& Endpoint::make_peer(Rank other, Lane lane) {
  require(other >= 0 && other < size(), "rank {} is not one of the {} ranks", other, size());
  require(other != rank_, "rank {} cannot send to or receive from itself", rank_);
  require(lane < lane_count, "lane {} is not one of the {} lanes", lane, lane_count);
  auto made = std::make_unique<Peer>();
  for (Lane l = 0; l < lane_count; ++l) {
    made->send[l].channel = &fabric_.channel(rank_, other, l);
    made->send[l].cells = fabric_.cells(rank_, other, l);
    made->recv[l].channel = &fabric_.channel(other, rank_, l);
    made->recv[l].cells = fabric_.cells(other, rank_, l);
    made->recv[l].peer = other;
    made->recv[l].lane = l;
  }
  active_sends_.reserve(active_sends_.capacity() + lane_count);
  active_recvs_.reserve(active_recvs_.capacity() + lane_count);
  return *(peers_[static_cast<std::size_t>(other)] = std::move(made));
}

void Endpoint::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                         Completion completion) {
  SendLane& s = peer(to, lane).send[lane];
  s.backlog.push({data, completion});
  progress(s);
  if (!s.active && !(s.backlog.empty() && s.unread.empty())) {
    s.active = true;
    active_sends_.push_back(&s);
  }
}

void Endpoint::post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion completion) {
  RecvLane& r = peer(from, lane).recv[lane];
  r.queue.push({data, completion});
  if (!r.active) {
    r.active = true;
    active_recvs_.push_back(&r);
  }
}

std::size_t Endpoint::poll() {
  for (std::size_t i = 0; i < active_recvs_.size();) {
    RecvLane& r = *active_recvs_[i];
    progress(r);
    r.active = !r.queue.empty();
    if (r.active) {
      ++i;
    } else {
      active_recvs_[i] = active_recvs_.back();
      active_recvs_.pop_back();
    }
  }
  for (std::size_t i = 0; i < active_sends_.size();) {
    SendLane& s = *active_sends_[i];
    progress(s);
    s.active = !(s.backlog.empty() && s.unread.empty());
    if (s.active) {
      ++i;
    } else {
      active_sends_[i] = active_sends_.back();
      active_sends_.pop_back();
    }
  }
  // Completions may post; what that finishes is reported by the next poll.
  const std::size_t finished = ready_.size();
  for (std::size_t i = 0; i < finished; ++i) {
    const Completion completion = ready_.front();
    ready_.pop();
    completion.sink->complete(completion.id);
  }
  if (finished == 0) fabric_.throw_if_failed();
  return finished;
}

void Endpoint::send(Rank to, std::span<const std::byte> data) {
  SendLane& s = peer(to, 0).send[0];
  const Route route = route_of(data);
  if (!quiet() || route == Route::staged) return Transport::send(to, data);
  Backoff backoff(crowded());
  while (!has_slot(s)) {
    if (backoff.pause()) fabric_.throw_if_failed();
  }
  announce(s, route, data);
  if (route == Route::inlined) return;
  backoff.reset();
  while ((s.consumed = s.channel->consumed.load(std::memory_order_acquire)) < s.posted) {
    if (backoff.pause()) fabric_.throw_if_failed();
  }
}

void Endpoint::recv(Rank from, std::span<std::byte> data) {
  RecvLane& r = peer(from, 0).recv[0];
  if (!quiet()) return Transport::recv(from, data);
  const Slot& slot = r.channel->slots[r.next % slots_per_lane];
  Backoff backoff(crowded());
  while (slot.sequence.load(std::memory_order_acquire) != r.next + 1) {
    if (backoff.pause()) fabric_.throw_if_failed();
  }
  if (static_cast<Route>(slot.header & 3U) == Route::staged) return Transport::recv(from, data);
  open(r, slot, data);
  consume(r, static_cast<Route>(slot.header & 3U) == Route::mapped);
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
