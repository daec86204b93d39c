#pragma once
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Whether the run `after` continues the run `before`.
inline bool follows(Slice before, Slice after) {
  return after.buffer == before.buffer && after.slot == before.slot &&
         after.first == before.first + before.count;
}

/// The run of `count` blocks that starts as `first` does.
inline Slice stretch(Slice first, std::size_t count) {
  first.count = static_cast<std::uint32_t>(count);
  return first;
}

/// Calls visit(first, count) for the longest runs of [0, total) in which joins(i) holds for every
/// element but the first.
template <class Joins, class Visit>
void for_each_run(std::size_t total, Joins joins, Visit visit) {
  for (std::size_t first = 0; first < total;) {
    std::size_t end = first + 1;
    while (end < total && joins(end)) ++end;
    visit(first, end - first);
    first = end;
  }
}

}  // namespace commtune
