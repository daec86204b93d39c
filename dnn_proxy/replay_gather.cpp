#include <algorithm>

#include "core/error.hpp"
#include "dnn_proxy/replay_report.hpp"

namespace commtune {
namespace {

/// Equal numbers of values from every rank: result[rank * mine.size() + i].
template <class T>
std::vector<T> allgather_values(Bootstrap& bootstrap, const std::vector<T>& mine) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(bootstrap.size()));
  if (!mine.empty())
    bootstrap.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  return all;
}

CallCheck merge_checks(Bootstrap& bootstrap, const CallCheck& mine) {
  CallCheck merged;
  for (const std::uint64_t value : allgather_value(bootstrap, mine.checked))
    merged.checked += value;
  for (const std::uint64_t value : allgather_value(bootstrap, mine.wrong)) merged.wrong += value;
  if (merged.wrong > 0)
    for (const std::string& text : allgather_string(bootstrap, mine.first))
      if (merged.first.empty()) merged.first = text;
  return merged;
}

}  // namespace

ReplayMeasurement gather_replay(Job& job, const ReplayPlan& plan, const ReplayEngine& engine,
                                const std::vector<StepTimes>& times,
                                const std::vector<CallSample>& samples) {
  ReplayMeasurement measured;
  const auto ranks = static_cast<std::size_t>(job.size());
  const auto all_times = allgather_values(job.bootstrap, times);
  for (std::size_t step = 0; step < times.size(); ++step) {
    measured.times.emplace_back();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      measured.times.back().push_back(all_times[rank * times.size() + step]);
  }
  std::vector<std::int64_t> mine;
  mine.reserve(samples.size());
  for (const CallSample& sample : samples) mine.push_back(sample.ns);
  const auto all = allgather_values(job.bootstrap, mine);
  measured.call_us.resize(plan.calls.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::int64_t slowest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      slowest = std::max(slowest, all[rank * mine.size() + i]);
    measured.call_us[samples[i].call].push_back(static_cast<double>(slowest) / 1e3);
  }
  for (const CallCheck& check : engine.checks())
    measured.checks.push_back(merge_checks(job.bootstrap, check));
  measured.piece_ns = allgather_value(job.bootstrap, engine.piece_ns());
  return measured;
}

}  // namespace commtune
