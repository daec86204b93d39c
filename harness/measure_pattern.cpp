#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "harness/sampler.hpp"

namespace commtune {
namespace {

double clock_cost_ns(const Transport& transport) {
  std::array<std::int64_t, 65> reads{};
  for (std::int64_t& read : reads) read = transport.now_ns();
  return static_cast<double>(reads.back() - reads.front()) / static_cast<double>(reads.size() - 1);
}

struct Calibration {
  std::int64_t first_ns = 0;
  std::uint64_t repeats = 1;
};

/// Rank 0 decides and tells the others; a growth step is at most tenfold.
Calibration calibrate(Job& job, SyncBarrier& barrier,
                      const std::function<void(std::uint64_t)>& operation) {
  const double needed_ns = std::max(20e3, 100 * clock_cost_ns(job.transport));
  const auto timed = [&](std::uint64_t repeats) {
    barrier.wait();
    const std::int64_t begin = job.transport.now_ns();
    operation(repeats);
    return job.transport.now_ns() - begin;
  };
  Calibration calibration;
  job.monitor.enter(Phase::warmup);
  calibration.first_ns = timed(1);
  if (!job.transport.capabilities().simulated_time) {
    while (true) {
      job.monitor.beat(calibration.repeats);
      timed(1);
      const auto spent = static_cast<double>(timed(calibration.repeats));
      std::uint64_t next = calibration.repeats;
      if (spent < needed_ns && next < std::uint64_t{1} << 30) {
        const double factor = std::clamp(1.2 * needed_ns / std::max(spent, 1.0), 2.0, 10.0);
        next = static_cast<std::uint64_t>(static_cast<double>(next) * factor);
      }
      next = allgather_value(job.bootstrap, next).front();
      if (next == calibration.repeats) break;
      calibration.repeats = next;
    }
  }
  return allgather_value(job.bootstrap, calibration).front();
}

}  // namespace

Series measure_pattern(Job& job, const SamplingOptions& options,
                       const std::function<void(std::uint64_t repeats)>& operation) {
  SyncBarrier barrier(job.transport);
  const Calibration calibration = calibrate(job, barrier, operation);
  const std::uint64_t repeats = calibration.repeats;
  std::uint64_t calls = 0;
  Sampler sampler(job, options, [&](Stamp& stamp) {
    job.monitor.beat(calls++);
    barrier.wait();
    stamp.in_ns = job.transport.now_ns();
    operation(repeats);
    stamp.out_ns = job.transport.now_ns();
  });
  Series series;
  series.first_call_us = static_cast<double>(calibration.first_ns) * 1e-3;
  sampler.first_call();
  sampler.warm_up();
  while (const std::size_t length = sampler.next_batch(series.samples_us)) {
    for (std::size_t i = 0; i < length; ++i) {
      if (!sampler.keeps(i)) continue;
      const Stamp& stamp = sampler.stamp(0, i);
      const auto spent_ns = static_cast<double>(stamp.out_ns - stamp.in_ns);
      series.samples_us.push_back(spent_ns * 1e-3 / static_cast<double>(repeats));
    }
  }
  job.monitor.enter(Phase::idle);
  add_flags(series, sampler, options);
  return series;
}

}  // namespace commtune
