#include "harness/measure.hpp"

#include <algorithm>
#include <array>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

/// Waking from a bootstrap exchange leaves caches and the core's frequency cold; this many calls
/// follow untimed. Calls longer than `long_call_s` do not notice.
constexpr int cold_calls = 2;
constexpr double long_call_s = 5e-3;

/// Runs batches of one timed call and keeps every rank's stamps of the current batch.
class Sampler {
 public:
  using Call = std::function<void(Stamp&)>;

  Sampler(Job& job, const SamplingOptions& options, Call call)
      : job_(job),
        options_(options),
        call_(std::move(call)),
        plan_(options, largest_batch(job.size())),
        started_ns_(monotonic_ns()) {
    require(options.iterations != 0, "--iterations: 0 is not a number of samples, give at least 1");
    mine_.reserve(largest_batch(job.size()) + 1);
  }

  /// The very first call. Warm-up counts it.
  void first_call() {
    job_.monitor.enter(Phase::warmup);
    run_batch(1, 0);
  }
  void warm_up() {
    std::uint64_t done = 1;
    std::uint64_t round = 1;
    const auto more = [&] {
      if (options_.warmup) return done < *options_.warmup;
      return (done < 3 || elapsed_s_ < 10e-3) && elapsed_s_ < options_.time_limit_s;
    };
    const std::size_t largest = largest_batch(job_.size());
    while (more()) {
      std::uint64_t length = options_.warmup ? std::min(*options_.warmup - done, round) : round;
      if (iteration_s_ * static_cast<double>(length) > 0.1) length = 1;
      run_batch(static_cast<std::size_t>(length), 0);
      done += length;
      round = std::min<std::uint64_t>(round * 2, largest);
    }
  }
  /// Iterations of the next batch, now measured; 0 once the series is complete.
  std::size_t next_batch(const std::vector<double>& samples_us) {
    taken_ += last_batch_;
    const std::size_t length = plan_.next(taken_, samples_us, elapsed_s_, iteration_s_);
    last_batch_ = length;
    if (length == 0) return 0;
    job_.monitor.enter(Phase::timed);
    run_batch(length, iteration_s_ < long_call_s ? cold_calls : 0);
    return length;
  }
  const Stamp& stamp(Rank rank, std::size_t iteration) const {
    return all_[static_cast<std::size_t>(rank) * mine_.size() + iteration];
  }
  /// Whether an iteration of the batch becomes a sample.
  bool keeps(std::size_t iteration) const noexcept {
    return (taken_ + iteration) % plan_.stride() == 0;
  }
  bool capped() const noexcept { return plan_.stride() != 1; }
  bool hit_time_limit() const noexcept { return plan_.hit_time_limit(); }

 private:
  /// Bounds what a gather moves to 16 MiB, however many ranks.
  static std::size_t largest_batch(Rank ranks) {
    return std::clamp<std::size_t>((std::size_t{1} << 20) / static_cast<std::size_t>(ranks), 10,
                                   4096);
  }

  void run_batch(std::size_t length, int untimed) {
    mine_.assign(length + 1, {});
    all_.resize(mine_.size() * static_cast<std::size_t>(job_.size()));
    Stamp unused;
    const std::int64_t begin_ns = monotonic_ns();
    for (int i = 0; i < untimed; ++i) call_(unused);
    for (std::size_t i = 0; i < length; ++i) call_(mine_[i]);
    const std::int64_t end_ns = monotonic_ns();
    mine_[length] = {end_ns - started_ns_, end_ns - begin_ns};
    job_.bootstrap.allgather(std::as_bytes(std::span(mine_)),
                             std::as_writable_bytes(std::span(all_)));
    const Stamp& clock = stamp(0, length);
    elapsed_s_ = static_cast<double>(clock.in_ns) * 1e-9;
    iteration_s_ = static_cast<double>(clock.out_ns) * 1e-9 /
                   static_cast<double>(length + static_cast<std::size_t>(untimed));
  }

  Job& job_;
  const SamplingOptions& options_;
  Call call_;
  SamplingPlan plan_;
  std::int64_t started_ns_;
  double elapsed_s_ = 0, iteration_s_ = 0;  ///< rank 0's, the same on every rank
  std::size_t taken_ = 0, last_batch_ = 0;  ///< iterations measured before and in the batch
  std::vector<Stamp> mine_, all_;           ///< last element: elapsed and batch time of the rank
};

void add_flags(Series& series, const Sampler& sampler, const SamplingOptions& options) {
  series.flags = sample_flags(series.samples_us, options.confidence);
  if (sampler.capped()) series.flags.emplace_back("samples_capped");
  if (sampler.hit_time_limit()) series.flags.emplace_back("time_limit");
}

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

Series measure_collective(Job& job, const ClockMap& clocks, const SamplingOptions& options,
                          const std::function<void(std::uint64_t)>& before,
                          const std::function<void()>& operation) {
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
  const auto size = static_cast<std::size_t>(job.size());
  std::vector<Stamp> stamps(size);
  const auto iteration = [&](std::size_t index) {
    for (std::size_t r = 0; r < size; ++r) stamps[r] = sampler.stamp(static_cast<Rank>(r), index);
    return combine(stamps, clocks.offset_ns);
  };
  Series series;
  std::vector<double> skews_us;
  sampler.first_call();
  series.first_call_us = iteration(0).time_us;
  // A simulated call takes the same time again and again, and long to simulate.
  if (job.transport.capabilities().simulated_time && !options.iterations) {
    series.samples_us = {series.first_call_us};
    series.entry_skew_us = iteration(0).skew_us;
    series.flags = {"simulated"};
    job.monitor.enter(Phase::idle);
    return series;
  }
  sampler.warm_up();
  while (const std::size_t length = sampler.next_batch(series.samples_us)) {
    for (std::size_t i = 0; i < length; ++i) {
      if (!sampler.keeps(i)) continue;
      const Iteration result = iteration(i);
      series.samples_us.push_back(result.time_us);
      skews_us.push_back(result.skew_us);
    }
  }
  job.monitor.enter(Phase::idle);
  add_flags(series, sampler, options);
  series.entry_skew_us = median_of(std::move(skews_us));
  if (series.entry_skew_us > median_of(series.samples_us)) series.flags.emplace_back("entry_skew");
  return series;
}

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
