#pragma once
#include <string>
#include <vector>

#include "collectives/exchange/msccl_translate.hpp"

namespace commtune {

struct MscclRunResult {
  std::vector<Schedule> schedules = {};
  bool in_order = true;     ///< see MscclTranslation::in_order
  std::string strays = {};  ///< see MscclTranslation::strays
};

/// Runs an MSCCL program symbolically: thread blocks side by side, each step once what it waits for
/// has finished, connections that buffer any number of messages; and turns it into schedules with
/// our shape's `in_place`. A program that deadlocks, races, leaves messages over or mixes up blocks
/// throws Error(wrong_result) that starts with `what` and names the steps.
MscclRunResult run_msccl(const MscclProgram&, bool in_place, SendOrder, const std::string& what);

}  // namespace commtune
