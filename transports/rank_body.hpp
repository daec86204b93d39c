#pragma once
#include <functional>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "transports/job.hpp"

namespace commtune {

/// How one rank's work ended. `error` is set when it ended by an exception.
struct RankResult {
  int status = 0;
  std::optional<Errc> error;
  std::string message;
};

/// Runs `work`, turning what it throws into a result.
RankResult run_guarded(const std::function<int()>& work);

}  // namespace commtune
