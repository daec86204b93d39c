#include "transports/sim/sim_transport.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "transports/sim/sim_bootstrap.hpp"

namespace commtune::sim {

namespace sg = simgrid::s4u;

namespace {

/// The longest that one poll waits, in virtual seconds: a caller may have something else to do.
constexpr double patience_s = 1e-3;
/// Messages leave at most this much too early.
constexpr double debt_limit_ns = 500;

}  // namespace

void SimTransport::check_arguments(Rank peer, Lane lane) const {
  require(peer >= 0 && peer < size_, "rank {} is not one of the {} ranks", peer, size_);
  require(peer != rank_, "rank {} cannot send to or receive from itself", rank_);
  require(lane < lane_count, "lane {} is not one of the {} lanes", lane, lane_count);
}

sg::Mailbox* SimTransport::mailbox(Rank from, Rank to, Lane lane) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(from) << 40U) | (static_cast<std::uint64_t>(to) << 8U) | lane;
  const auto known = std::lower_bound(mailboxes_.begin(), mailboxes_.end(), key,
                                      [](const Known& a, std::uint64_t b) { return a.key < b; });
  if (known != mailboxes_.end() && known->key == key) return known->mailbox;
  sg::Mailbox* const made = sg::Mailbox::by_name(fmt::format("{:x}", key));
  mailboxes_.insert(known, {key, made});
  return made;
}

SimTransport::Pending* SimTransport::take_pending() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Pending>());
    return all_.back().get();
  }
  Pending* const pending = free_.back();
  free_.pop_back();
  return pending;
}

void SimTransport::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                             Completion completion) {
  check_arguments(to, lane);
  Pending* const pending = take_pending();
  *pending = {completion, new Message{data, {}, false}, {}, to, lane, false};
  comms_.push_back(mailbox(rank_, to, lane)->put_async(pending->message, data.size()));
  pending_.push_back(pending);
  fresh_ = true;
}

void SimTransport::post_recv(Rank from, Lane lane, std::span<std::byte> data,
                             Completion completion) {
  check_arguments(from, lane);
  Pending* const pending = take_pending();
  *pending = {completion, nullptr, data, from, lane, true};
  comms_.push_back(mailbox(from, rank_, lane)->get_async<Message>(&pending->message));
  pending_.push_back(pending);
  fresh_ = true;
}

void SimTransport::finish(std::size_t index) {
  Pending* const pending = pending_[index];
  comms_[index] = std::move(comms_.back());
  pending_[index] = pending_.back();
  comms_.pop_back();
  pending_.pop_back();
  Message* const message = pending->message;
  if (pending->receives) {
    receive(*pending, *message);
  } else if (!message->one_done) {
    // The sender may change its memory before the receiver comes to run.
    message->kept.assign(message->data.begin(), message->data.end());
    message->data = message->kept;
  }
  if (message->one_done) {
    delete message;
  } else {
    message->one_done = true;
  }
  free_.push_back(pending);
  pending->completion.sink->complete(pending->completion.id);
}

void SimTransport::receive(const Pending& pending, const Message& message) const {
  if (message.data.size() != pending.data.size()) {
    fail(Errc::peer, "rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}",
         pending.peer, message.data.size(), rank_, pending.data.size(), pending.lane);
  }
  if (!message.data.empty()) {
    std::memcpy(pending.data.data(), message.data.data(), message.data.size());
  }
}

void SimTransport::fail_waiting() const {
  simulation_.health.throw_if_failed();
  const Pending& first = *pending_.front();
  fail(Errc::peer, "rank {} waits for {} transfers that never end, first {} rank {} on lane {}",
       rank_, pending_.size(), first.receives ? "from" : "to", first.peer, first.lane);
}

std::size_t SimTransport::poll() {
  const double now = sg::Engine::get_clock();
  simulation_.health.throw_if_failed();
  // SimGrid's test_any() would leave what it finds in its list of the actor's activities for ever.
  if (fresh_) {
    fresh_ = false;
    return 0;
  }
  if (comms_.empty()) {
    sg::this_actor::yield();
    return 0;
  }
  const ssize_t done = sg::Comm::wait_any_for(comms_, patience_s);
  if (done < 0) {
    waited_s_ += sg::Engine::get_clock() - now;
    if (waited_s_ > never_s) fail_waiting();
    return 0;
  }
  waited_s_ = 0;
  constexpr std::uint32_t beat_every = 256;
  if (++completions_ % beat_every == 0) simulation_.beat(rank_);
  finish(static_cast<std::size_t>(done));
  return 1;
}

std::int64_t SimTransport::now_ns() const noexcept {
  return std::llround(sg::Engine::get_clock() * 1e9 + debt_ns_);
}

void SimTransport::elapse(double ns) {
  debt_ns_ += ns;
  if (debt_ns_ >= debt_limit_ns) pay_debt();
}

void SimTransport::pay_debt() {
  const double ns = debt_ns_;
  debt_ns_ = 0;
  sg::this_actor::sleep_for(ns * 1e-9);
}

}  // namespace commtune::sim
