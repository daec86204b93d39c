#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

/// One deliberate fault in one rank's program: a dropped step, a wrong peer, shifted blocks, a
/// reduce turned into a copy, a dropped edge, a swapped pair of sends... Returns what was done, or
/// an empty string when the drawn fault does not apply to these schedules. Pure in `seed`.
std::string mutate(std::vector<Schedule>& schedules, std::uint64_t seed);

struct MutationReport {
  std::size_t applied = 0, rejected = 0;
  std::vector<std::string> survivors;  ///< "<algorithm> P=5 seed 12: dropped edge 3->4"
};
/// Breaks `algorithm` at `size` ranks `count` times and counts how many faults verify() rejects.
MutationReport mutation_test(const Algorithm&, Rank size, std::size_t count, std::uint64_t seed);

}  // namespace commtune
