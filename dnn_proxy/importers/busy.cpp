#include "dnn_proxy/importers/busy.hpp"

#include <algorithm>

namespace commtune {

BusyTimeline::BusyTimeline(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::int64_t sum = 0;
  for (const Interval& next : intervals) {
    if (next.end <= next.begin) continue;
    if (!merged_.empty() && next.begin <= merged_.back().end) {
      const std::int64_t grown = std::max(merged_.back().end, next.end);
      sum += grown - merged_.back().end;
      merged_.back().end = grown;
    } else {
      sums_.push_back(sum);
      merged_.push_back(next);
      sum += next.end - next.begin;
    }
  }
}

std::int64_t BusyTimeline::before(std::int64_t at) const {
  const auto next =
      std::upper_bound(merged_.begin(), merged_.end(), at,
                       [](std::int64_t time, const Interval& i) { return time < i.begin; });
  if (next == merged_.begin()) return 0;
  const auto index = static_cast<std::size_t>(next - merged_.begin()) - 1;
  return sums_[index] + std::min(at, merged_[index].end) - merged_[index].begin;
}

std::int64_t BusyTimeline::busy(std::int64_t begin, std::int64_t end) const {
  return end <= begin ? 0 : before(end) - before(begin);
}

}  // namespace commtune
