#pragma once
#include <utility>
#include <vector>

#include "collectives/schedule/schedule.hpp"
#include "collectives/schedule/verify.hpp"
#include "core/error.hpp"

namespace commtune {

/// All ranks' programs, each written by `write(builder, rank)`.
template <class Write>
std::vector<Schedule> programs(Collective collective, Rank size, bool in_place,
                               std::uint32_t blocks, Write write) {
  std::vector<Schedule> all;
  for (Rank rank = 0; rank < size; ++rank) {
    ScheduleBuilder builder(collective, Shape{rank, size, 0, in_place}, blocks);
    write(builder, rank);
    all.push_back(std::move(builder).finish());
  }
  return all;
}

/// The message of the Error(usage) that `action` throws; empty when it throws nothing.
template <class Action>
std::string usage_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == Errc::usage ? error.what() : "not a usage error";
  }
  return {};
}

inline std::vector<std::pair<StepId, StepId>> edges(const Schedule& schedule) {
  std::vector<std::pair<StepId, StepId>> all;
  for (StepId from = 0; from < schedule.steps.size(); ++from) {
    for (const StepId to : schedule.successors_of(from)) all.emplace_back(from, to);
  }
  return all;
}

inline bool operator==(const Schedule& a, const Schedule& b) {
  return a.space == b.space && a.slots == b.slots && a.steps == b.steps &&
         a.first_successor == b.first_successor && a.successors == b.successors &&
         a.in_degrees == b.in_degrees;
}

}  // namespace commtune
