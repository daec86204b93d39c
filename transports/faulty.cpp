#include "transports/faulty.hpp"

#include <csignal>
#include <utility>

namespace commtune {

Capabilities FaultyTransport::capabilities() const noexcept {
  Capabilities real = real_.capabilities();
  real.views = real.mapped_memory = false;
  return real;
}

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t FaultyTransport::random() noexcept {
  std::uint64_t z = fault_.seed += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

void FaultyTransport::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                                Completion completion) {
  constexpr std::uint64_t longest_delay = 16;  // polls
  if (fault_.kind == FaultKind::delay) {
    late_.push_back({to, lane, data, completion, random() % longest_delay});
    return;
  }
  if (sends_++ != fault_.at_send) return real_.post_send(to, lane, data, completion);
  switch (fault_.kind) {
    case FaultKind::drop:
      dropped_.push_back(completion);
      return;
    case FaultKind::truncate:
      return real_.post_send(to, lane, data.first(data.empty() ? 0 : data.size() - 1), completion);
    case FaultKind::corrupt:
      changed_.emplace_back(data.begin(), data.end());
      if (!data.empty()) changed_.back()[random() % data.size()] ^= std::byte{0x40};
      return real_.post_send(to, lane, changed_.back(), completion);
    case FaultKind::die:
      raise(SIGKILL);
      return;
    case FaultKind::delay:
      return;
  }
}

std::size_t FaultyTransport::poll() {
  // In the order they were posted: a lane's messages may not overtake each other.
  while (!late_.empty()) {
    Late& first = late_.front();
    if (first.polls-- != 0) break;
    const Late due = first;
    late_.pop_front();
    real_.post_send(due.to, due.lane, due.data, due.completion);
  }
  std::size_t finished = 0;
  for (const Completion& each : std::exchange(dropped_, {})) {
    each.sink->complete(each.id);
    ++finished;
  }
  return finished + real_.poll();
}

}  // namespace commtune
