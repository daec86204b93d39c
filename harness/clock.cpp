#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>

#include "core/backoff.hpp"
#include "harness/clock_sync.hpp"

namespace commtune {
namespace {

constexpr Lane clock_lane = lane_count - 1;
constexpr int round_trips = 200;

class Flag final : public Sink {
 public:
  void complete(std::uint32_t /*id*/) noexcept override { set_ = true; }
  void await(Transport& transport) {
    Backoff backoff(transport.crowded());
    while (!set_) {
      if (transport.poll() == 0) backoff.pause();
    }
    set_ = false;
  }

 private:
  bool set_ = false;
};

void send_value(Transport& transport, Rank to, const std::int64_t& value) {
  Flag sent;
  transport.post_send(to, clock_lane, std::as_bytes(std::span(&value, 1)), {&sent, 0});
  sent.await(transport);
}

std::int64_t receive_value(Transport& transport, Rank from) {
  Flag received;
  std::int64_t value = 0;
  transport.post_recv(from, clock_lane, std::as_writable_bytes(std::span(&value, 1)),
                      {&received, 0});
  received.await(transport);
  return value;
}

struct Estimate {
  std::int64_t offset_ns = 0, error_ns = 0;
};

Estimate estimate_offset(Transport& transport, Rank peer) {
  Estimate best{0, std::numeric_limits<std::int64_t>::max()};
  for (int trip = 0; trip < round_trips; ++trip) {
    const std::int64_t begin = transport.now_ns();
    send_value(transport, peer, begin);
    const std::int64_t remote = receive_value(transport, peer);
    const std::int64_t round_trip = transport.now_ns() - begin;
    const std::int64_t error = (round_trip + 1) / 2;
    if (error < best.error_ns) best = {remote - begin - round_trip / 2, error};
  }
  return best;
}

void answer_estimate(Transport& transport) {
  for (int trip = 0; trip < round_trips; ++trip) {
    receive_value(transport, 0);
    send_value(transport, 0, transport.now_ns());
  }
}

std::string host_and_boot() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::string(host.data()) + " " + boot;
}

}  // namespace

ClockMap synchronise_clocks(Job& job, std::string_view identity) {
  const std::vector<std::string> identities = allgather_string(job.bootstrap, identity);
  const auto first_of = [&](const std::string& name) {
    return static_cast<Rank>(std::find(identities.begin(), identities.end(), name) -
                             identities.begin());
  };
  Estimate mine;
  for (Rank rank = 1; rank < job.size(); ++rank) {
    const Rank leader = first_of(identities[static_cast<std::size_t>(rank)]);
    if (leader != rank) continue;
    if (job.rank() == 0) {
      const Estimate estimate = estimate_offset(job.transport, rank);
      send_value(job.transport, rank, estimate.offset_ns);
      send_value(job.transport, rank, estimate.error_ns);
    } else if (job.rank() == rank) {
      answer_estimate(job.transport);
      mine.offset_ns = receive_value(job.transport, 0);
      mine.error_ns = receive_value(job.transport, 0);
    }
  }
  const std::vector<Estimate> estimates = allgather_value(job.bootstrap, mine);
  ClockMap clocks;
  for (const std::string& name : identities) {
    const Estimate& leader = estimates[static_cast<std::size_t>(first_of(name))];
    clocks.offset_ns.push_back(leader.offset_ns);
    clocks.error_us = std::max(clocks.error_us, static_cast<double>(leader.error_ns) * 1e-3);
  }
  return clocks;
}

ClockMap synchronise_clocks(Job& job) {
  if (job.transport.capabilities().simulated_time) {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(job.size()), 0), 0};
  }
  return synchronise_clocks(job, host_and_boot());
}

}  // namespace commtune
