#include <algorithm>
#include <utility>

#include "harness/clock_sync.hpp"
#include "harness/sampler.hpp"

namespace commtune {
namespace {

/// The series of a collective while it grows. With clocks of their own, ranks keep their stamps,
/// and the iterations are made anew once the clocks have been read a second time.
class CollectiveSeries {
 public:
  CollectiveSeries(Job& job, ClockMap& clocks, const Sampler& sampler)
      : job_(job),
        clocks_(clocks),
        sampler_(sampler),
        stamps_(static_cast<std::size_t>(job.size())) {}

  const std::vector<double>& samples_us() const noexcept { return series_.samples_us; }
  void first_call() { series_.first_call_us = iteration(0).time_us(); }
  /// An iteration of the sampler's batch becomes a sample.
  void add(std::size_t index) {
    add(iteration(index));
    if (!clocks_.shared() || series_.stamps.size() < Series::stamp_limit) {
      series_.stamps.push_back(sampler_.stamp(job_.rank(), index));
    }
  }
  /// Collective.
  Series finish() && {
    if (!clocks_.shared()) {
      clocks_.end(read_clocks(job_, clocks_));
      for (Stamp& stamp : series_.stamps) stamp = on_rank_zero(job_.rank(), stamp);
      gather_again();
      series_.stamps.resize(std::min(series_.stamps.size(), Series::stamp_limit));
    }
    std::vector<double> skews_us;
    for (const Iteration& each : series_.iterations) skews_us.push_back(each.skew_us());
    series_.entry_skew_us = median_of(std::move(skews_us));
    series_.clock_error_us = clocks_.error_us();
    return std::move(series_);
  }

 private:
  Stamp on_rank_zero(Rank rank, const Stamp& stamp) const {
    return {clocks_.on_rank_zero(rank, stamp.in_ns), clocks_.on_rank_zero(rank, stamp.out_ns)};
  }
  Iteration iteration(std::size_t index) {
    for (std::size_t r = 0; r < stamps_.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      stamps_[r] = on_rank_zero(rank, sampler_.stamp(rank, index));
    }
    return combine(stamps_);
  }
  void add(const Iteration& iteration) {
    series_.samples_us.push_back(iteration.time_us());
    series_.iterations.push_back(iteration);
  }
  void gather_again() {
    series_.samples_us.clear();
    series_.iterations.clear();
    const std::size_t ranks = stamps_.size();
    std::span<const Stamp> mine(series_.stamps);
    while (!mine.empty()) {
      const std::size_t length = std::min(mine.size(), largest_batch(job_.size()));
      std::vector<Stamp> all(length * ranks);
      job_.bootstrap.allgather(std::as_bytes(mine.first(length)),
                               std::as_writable_bytes(std::span(all)));
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t r = 0; r < ranks; ++r) stamps_[r] = all[r * length + i];
        add(combine(stamps_));
      }
      mine = mine.subspan(length);
    }
  }

  Job& job_;
  ClockMap& clocks_;
  const Sampler& sampler_;
  std::vector<Stamp> stamps_;  ///< of all ranks in one iteration
  Series series_;
};

}  // namespace

Series measure_collective(Job& job, ClockMap& clocks, const SamplingOptions& options,
                          const std::function<void(std::uint64_t)>& before,
                          const std::function<void()>& operation) {
  if (!clocks.shared()) clocks.begin(read_clocks(job, clocks));
  SyncBarrier barrier(job.transport);
  std::uint64_t calls = 0;
  Sampler sampler(job, options, [&](Stamp& stamp) {
    job.monitor.beat(calls);
    if (before) before(calls);
    ++calls;
    barrier.wait();
    stamp.in_ns = job.transport.now_ns();
    operation();
    stamp.out_ns = job.transport.now_ns();
  });
  CollectiveSeries series(job, clocks, sampler);
  sampler.first_call();
  series.first_call();
  // A simulated call takes the same time again and again, and long to simulate.
  if (job.transport.capabilities().simulated_time && !options.iterations) {
    series.add(0);
    job.monitor.enter(Phase::idle);
    Series result = std::move(series).finish();
    result.flags = {"simulated"};
    return result;
  }
  sampler.warm_up();
  while (const std::size_t length = sampler.next_batch(series.samples_us())) {
    for (std::size_t i = 0; i < length; ++i) {
      if (sampler.keeps(i)) series.add(i);
    }
  }
  job.monitor.enter(Phase::idle);
  Series result = std::move(series).finish();
  add_flags(result, sampler, options);
  const double median_us = median_of(result.samples_us);
  if (result.entry_skew_us > median_us) result.flags.emplace_back("entry_skew");
  if (result.clock_error_us > 0.1 * median_us) result.flags.emplace_back("clock_error");
  return result;
}

}  // namespace commtune
