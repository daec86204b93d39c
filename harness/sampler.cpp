#include "harness/sampler.hpp"

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// Waking from a bootstrap exchange leaves caches and the core's frequency cold; this many calls
/// follow untimed. Calls longer than `long_call_s` do not notice.
constexpr int cold_calls = 2;
constexpr double long_call_s = 5e-3;

}  // namespace

std::size_t largest_batch(Rank ranks) {
  return std::clamp<std::size_t>((std::size_t{1} << 20) / static_cast<std::size_t>(ranks), 10,
                                 4096);
}

Sampler::Sampler(Job& job, const SamplingOptions& options, Call call)
    : job_(job),
      options_(options),
      call_(std::move(call)),
      plan_(options, largest_batch(job.size())),
      started_ns_(monotonic_ns()) {
  require(options.iterations != 0, "--iterations: 0 is not a number of samples, give at least 1");
  mine_.reserve(largest_batch(job.size()) + 1);
}

void Sampler::first_call() {
  job_.monitor.enter(Phase::warmup);
  run_batch(1, 0);
}

void Sampler::warm_up() {
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

std::size_t Sampler::next_batch(const std::vector<double>& samples_us) {
  taken_ += last_batch_;
  const std::size_t length = plan_.next(taken_, samples_us, elapsed_s_, iteration_s_);
  last_batch_ = length;
  if (length == 0) return 0;
  job_.monitor.enter(Phase::timed);
  run_batch(length, iteration_s_ < long_call_s ? cold_calls : 0);
  return length;
}

void Sampler::run_batch(std::size_t length, int untimed) {
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

void add_flags(Series& series, const Sampler& sampler, const SamplingOptions& options) {
  series.flags = sample_flags(series.samples_us, options.confidence);
  if (sampler.capped()) series.flags.emplace_back("samples_capped");
  if (sampler.hit_time_limit()) series.flags.emplace_back("time_limit");
}

}  // namespace commtune
