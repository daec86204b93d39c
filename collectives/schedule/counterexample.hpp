#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule/verify.hpp"

namespace commtune {

/// Tells a violation as a story of several lines: `title` (what was verified: algorithm, shape,
/// parameters), the violation, what leads to it, and the program around it. For a wrong value:
/// whose contributions the block holds and the steps that made it. For a deadlock: the circle of
/// steps that wait for each other. `schedules` are those that verify() found the violation in.
std::string counterexample(std::string_view title, Collective, Rank root, bool in_place,
                           const std::vector<Schedule>& schedules, const Violation&);

}  // namespace commtune
