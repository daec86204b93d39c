#include "transports/watchdog.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <numeric>

#include "core/clock.hpp"

namespace commtune {
namespace {

bool halted(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  return std::getline(file, line) && halted_by_stat(line);
}

}  // namespace

bool halted_by_stat(std::string_view stat) {
  // The second field is the program's name in brackets and may hold spaces and brackets.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  return state == 'T' || state == 't';
}

Watchdog::Watchdog(std::span<const MonitorSlot> slots, double timeout_s)
    : slots_(slots),
      timeout_s_(timeout_s),
      seen_(slots.size(), Seen{0, Phase::unseen, monotonic_ns()}),
      last_change_ns_(monotonic_ns()) {}

bool Watchdog::expired() {
  const std::int64_t now = monotonic_ns();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint64_t beats = slots_[i].beats.load(std::memory_order_relaxed);
    const Phase phase = slots_[i].phase.load(std::memory_order_relaxed);
    if (beats == seen_[i].beats && phase == seen_[i].phase) continue;
    seen_[i] = {beats, phase, now};
    last_change_ns_ = now;
  }
  return static_cast<double>(now - last_change_ns_) * 1e-9 > timeout_s_;
}

std::string Watchdog::table() const {
  std::string text = fmt::format("{:>6} {:>8} {:<11} {:<32} {:>12} {:>10} {:>12}\n", "rank", "pid",
                                 "phase", "operation", "bytes", "iteration", "last beat");
  const std::int64_t now = monotonic_ns();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const MonitorSlot& slot = slots_[i];
    const bool unseen = seen_[i].phase == Phase::unseen;
    text += fmt::format(
        "{:>6} {:>8} {:<11} {:<32} {:>12} {:>10} {:>12}\n", i,
        slot.pid.load(std::memory_order_relaxed), name(seen_[i].phase),
        std::string_view(slot.operation, strnlen(slot.operation, sizeof(slot.operation))),
        slot.bytes.load(std::memory_order_relaxed), slot.iteration.load(std::memory_order_relaxed),
        unseen ? "never"
               : fmt::format("{:.1f} s ago", static_cast<double>(now - seen_[i].at_ns) * 1e-9));
  }
  return text;
}

std::string Watchdog::reason() const {
  std::vector<std::size_t> order(slots_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<bool> stopped(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    stopped[i] = halted(slots_[i].pid.load(std::memory_order_relaxed));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (stopped[a] != stopped[b]) return static_cast<bool>(stopped[a]);
    const bool seen_a = seen_[a].phase != Phase::unseen, seen_b = seen_[b].phase != Phase::unseen;
    return seen_a != seen_b ? !seen_a : seen_[a].at_ns < seen_[b].at_ns;
  });
  constexpr std::size_t most = 8;
  std::string text = fmt::format("no progress for {:g} s: ", timeout_s_);
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) {
    const std::size_t rank = order[i];
    text += fmt::format("{}rank {}", i == 0 ? "" : "; ", rank);
    if (seen_[rank].phase == Phase::unseen) {
      text += " was never seen";
    } else if (slots_[rank].status.load(std::memory_order_acquire) >= 0) {
      text += " has ended its work";
    } else {
      text += stopped[rank] ? " was halted by a signal in " : " is in ";
      text += slots_[rank].where();
    }
  }
  if (order.size() > most) text += fmt::format("; and {} more", order.size() - most);
  return text;
}

}  // namespace commtune
