#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>
#include <utility>

#include "core/backoff.hpp"
#include "harness/clock_sync.hpp"
#include "harness/measure.hpp"

namespace commtune {
namespace {

constexpr Lane clock_lane = lane_count - 1;
constexpr int first_round_trips = 200, row_round_trips = 30;

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

template <class T>
void send_value(Transport& transport, Rank to, const T& value) {
  Flag sent;
  transport.post_send(to, clock_lane, std::as_bytes(std::span(&value, 1)), {&sent, 0});
  sent.await(transport);
}

template <class T = std::int64_t>
T receive_value(Transport& transport, Rank from) {
  Flag received;
  T value{};
  transport.post_recv(from, clock_lane, std::as_writable_bytes(std::span(&value, 1)),
                      {&received, 0});
  received.await(transport);
  return value;
}

/// Cristian 1989: the other clock was read between `begin` and the end of the round trip.
ClockReading read_clock(Transport& transport, Rank peer, int round_trips) {
  ClockReading best{0, 0, std::numeric_limits<std::int64_t>::max()};
  for (int trip = 0; trip < round_trips; ++trip) {
    const std::int64_t begin = transport.now_ns();
    send_value(transport, peer, begin);
    const std::int64_t remote = receive_value(transport, peer);
    const std::int64_t round_trip = transport.now_ns() - begin;
    const std::int64_t error = (round_trip + 1) / 2;
    if (error < best.error_ns) best = {remote, remote - begin - round_trip / 2, error};
  }
  return best;
}

void show_clock(Transport& transport, int round_trips) {
  for (int trip = 0; trip < round_trips; ++trip) {
    receive_value(transport, 0);
    send_value(transport, 0, transport.now_ns());
  }
}

std::vector<ClockReading> read_clocks(Job& job, const std::vector<Rank>& leaders, int round_trips) {
  ClockReading mine;
  for (Rank rank = 1; rank < job.size(); ++rank) {
    if (leaders[static_cast<std::size_t>(rank)] != rank) continue;
    if (job.rank() == 0) {
      const ClockReading reading = read_clock(job.transport, rank, round_trips);
      send_value(job.transport, rank, reading);
    } else if (job.rank() == rank) {
      show_clock(job.transport, round_trips);
      mine = receive_value<ClockReading>(job.transport, 0);
    }
  }
  return allgather_value(job.bootstrap, mine);
}

/// Processes read one CLOCK_MONOTONIC when host, boot and time namespace are the same.
std::string clock_identity() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code unknown;
  const auto time = std::filesystem::read_symlink("/proc/self/ns/time", unknown);
  return fmt::format("{} {} {}", host.data(), boot, time.string());
}

}  // namespace

ClockMap synchronise_clocks(Job& job, std::string_view identity) {
  const std::vector<std::string> identities = allgather_string(job.bootstrap, identity);
  std::vector<Rank> leaders;
  for (const std::string& each : identities) {
    leaders.push_back(static_cast<Rank>(std::find(identities.begin(), identities.end(), each) -
                                        identities.begin()));
  }
  std::vector<ClockReading> readings = read_clocks(job, leaders, first_round_trips);
  return {std::move(leaders), std::move(readings)};
}

ClockMap synchronise_clocks(Job& job) {
  if (job.transport.capabilities().simulated_time) return ClockMap(job.size());
  return synchronise_clocks(job, clock_identity());
}

std::vector<ClockReading> read_clocks(Job& job, const ClockMap& clocks) {
  std::vector<Rank> leaders;
  for (Rank rank = 0; rank < job.size(); ++rank) leaders.push_back(clocks.leader(rank));
  return read_clocks(job, leaders, row_round_trips);
}

}  // namespace commtune
