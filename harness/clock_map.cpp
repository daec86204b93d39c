#include "harness/clock_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace commtune {

ClockMap::ClockMap(Rank ranks)
    : ClockMap(std::vector<Rank>(static_cast<std::size_t>(ranks), 0),
               std::vector<ClockReading>(static_cast<std::size_t>(ranks))) {}

ClockMap::ClockMap(std::vector<Rank> leaders, std::vector<ClockReading> readings)
    : shared_(std::count(leaders.begin(), leaders.end(), 0) ==
              static_cast<std::ptrdiff_t>(leaders.size())),
      leaders_(std::move(leaders)),
      first_(std::move(readings)) {
  require(first_.size() == leaders_.size(), "clocks: {} readings of {} ranks", first_.size(),
          leaders_.size());
  for (Rank rank = 0; rank < ranks(); ++rank) {
    require(leader(rank) >= 0 && leader(rank) <= rank && leader(leader(rank)) == leader(rank),
            "clocks: rank {} follows rank {}, which does not lead", rank, leader(rank));
  }
  begin(first_);
}

void ClockMap::begin(std::vector<ClockReading> readings) {
  before_ = readings;
  end(std::move(readings));
}

void ClockMap::end(std::vector<ClockReading> readings) {
  require(readings.size() == leaders_.size(), "clocks: {} readings of {} ranks", readings.size(),
          leaders_.size());
  after_ = std::move(readings);
  largest_error_us_ = std::max(largest_error_us_, error_us());
}

std::int64_t ClockMap::offset_ns(Rank rank, std::int64_t at_ns) const {
  const ClockReading& before = of(before_, rank);
  const ClockReading& after = of(after_, rank);
  if (after.at_ns == before.at_ns) return before.offset_ns;
  const double share =
      static_cast<double>(at_ns - before.at_ns) / static_cast<double>(after.at_ns - before.at_ns);
  return before.offset_ns +
         std::llround(static_cast<double>(after.offset_ns - before.offset_ns) * share);
}

std::int64_t ClockMap::error_ns(Rank rank) const {
  constexpr std::int64_t rounding = 1;
  if (leader(rank) == 0) return 0;
  return std::max(of(before_, rank).error_ns, of(after_, rank).error_ns) + rounding;
}

double ClockMap::error_us() const {
  std::int64_t largest = 0, second = 0;
  for (Rank rank = 1; rank < ranks(); ++rank) {
    if (leader(rank) != rank) continue;
    second = std::max(second, std::min(error_ns(rank), largest));
    largest = std::max(largest, error_ns(rank));
  }
  return static_cast<double>(largest + second) * 1e-3;
}

std::optional<ClockDrift> ClockMap::drift(Rank rank) const {
  const ClockReading& first = of(first_, rank);
  const ClockReading& last = of(after_, rank);
  const auto gained_ns = static_cast<double>(last.offset_ns - first.offset_ns);
  const double passed_ns = static_cast<double>(last.at_ns - first.at_ns) - gained_ns;
  if (passed_ns <= 0) return std::nullopt;
  return ClockDrift{gained_ns * 1e6 / passed_ns,
                    static_cast<double>(first.error_ns + last.error_ns) * 1e6 / passed_ns};
}

Json describe_clocks(const ClockMap& clocks, const std::vector<std::string>& hosts) {
  Json list = Json::array();
  for (Rank rank = 1; rank < static_cast<Rank>(hosts.size()); ++rank) {
    if (clocks.leader(rank) != rank) continue;
    const ClockReading& reading = clocks.reading(rank);
    const std::optional<ClockDrift> drift = clocks.drift(rank);
    list.push_back({{"rank", rank},
                    {"host", hosts[static_cast<std::size_t>(rank)]},
                    {"offset_us", static_cast<double>(reading.offset_ns) * 1e-3},
                    {"error_us", static_cast<double>(reading.error_ns) * 1e-3},
                    {"drift_ppm", drift ? finite(drift->ppm) : Json()},
                    {"drift_error_ppm", drift ? finite(drift->error_ppm) : Json()}});
  }
  return {{"clock_error_us", finite(clocks.largest_error_us())}, {"clocks", std::move(list)}};
}

}  // namespace commtune
