#pragma once
#include <functional>

#include "harness/options.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Runs `body` on every rank of the job that `options` describe. The result file that was asked for
/// is begun before the job and closed with the reason when the job is lost; the reason is printed
/// once, except that rows with wrong data have been reported one by one. Returns the exit status.
int run_recorded_job(const RunOptions& options, const std::function<int(Job&)>& body);

}  // namespace commtune
