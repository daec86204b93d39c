#include "dnn_proxy/replay_report.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double overhead_us(const StepTimes& times) {
  return times.actions == 0
             ? 0
             : static_cast<double>(times.overhead()) / 1e3 / static_cast<double>(times.actions);
}

/// Median over steps of a quantity of the slowest rank.
template <class Quantity>
double step_median(const ReplayMeasurement& measured, Quantity quantity) {
  std::vector<double> values;
  for (const auto& ranks : measured.times) values.push_back(quantity(ranks[slowest_rank(ranks)]));
  return median(std::move(values));
}

void print_step(std::ostream& out, std::string_view label, double step, double compute,
                double progress, double issue, double exposed, double overhead,
                std::string_view rest) {
  out << fmt::format("{:>8} {:>11.3f} {:>11.3f} {:>12.3f} {:>9.3f} {:>11.3f} {:>11.2f}  {}\n",
                     label, step, compute, progress, issue, exposed, overhead, rest);
}

void print_steps(std::ostream& out, const ReplayMeasurement& measured) {
  out << fmt::format("{:>8} {:>11} {:>11} {:>12} {:>9} {:>11} {:>11}  {}\n", "step", "time ms",
                     "compute ms", "progress ms", "issue ms", "exposed ms", "engine us/op",
                     "slowest rank");
  for (std::size_t i = 0; i < measured.times.size(); ++i) {
    const std::size_t slowest = slowest_rank(measured.times[i]);
    const StepTimes& t = measured.times[i][slowest];
    std::string rest = fmt::format("{}", slowest);
    if (measured.recorded_ns[i] > 0)
      rest += fmt::format("   (recorded {:.3f} ms)", ms(measured.recorded_ns[i]));
    print_step(out, fmt::format("{}", measured.numbers[i]), ms(t.step), ms(t.compute),
               ms(t.progress), ms(t.issue), ms(t.exposed), overhead_us(t), rest);
  }
  const auto of = [&measured](std::int64_t StepTimes::*part) {
    return step_median(measured, [part](const StepTimes& t) { return ms(t.*part); });
  };
  print_step(out, "median", of(&StepTimes::step), of(&StepTimes::compute), of(&StepTimes::progress),
             of(&StepTimes::issue), of(&StepTimes::exposed), step_median(measured, overhead_us),
             "");
}

void print_calls(std::ostream& out, const ReplayPlan& plan, const std::vector<CallChoice>& choices,
                 const ReplayMeasurement& measured) {
  out << fmt::format("{:<36} {:>13} {:>7} {:>13} {:>13}  {}\n", "collective", "bytes", "calls",
                     "median us", "max us", "algorithm");
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const auto& samples = measured.call_us[i];
    if (samples.empty()) continue;
    out << fmt::format(
        "{:<36} {:>13} {:>7} {:>13.1f} {:>13.1f}  {} ({})\n", describe(plan.calls[i]),
        with_thousands(bytes_per_rank(plan.calls[i])), samples.size(), median(samples),
        *std::max_element(samples.begin(), samples.end()), choices[i].used, choices[i].evidence);
  }
  for (std::size_t i = 0; i < plan.calls.size(); ++i)
    if (measured.checks[i].wrong > 0)
      out << fmt::format("WRONG: {}: {} of {} elements, {}\n", describe(plan.calls[i]),
                         measured.checks[i].wrong, measured.checks[i].checked,
                         measured.checks[i].first);
}

void add_sample_flags(Row& row, const std::vector<double>& samples_us, double confidence) {
  for (std::string& flag : sample_flags(samples_us, confidence))
    row.flags.push_back(std::move(flag));
}

}  // namespace

std::size_t slowest_rank(const std::vector<StepTimes>& times) {
  const auto at =
      std::max_element(times.begin(), times.end(),
                       [](const StepTimes& a, const StepTimes& b) { return a.step < b.step; });
  return static_cast<std::size_t>(at - times.begin());
}

void print_workload(std::ostream& out, const Workload& workload, const ReplayOptions& options) {
  out << fmt::format(
      "# workload {}, format {}, recorded on {} of {} ranks; sizes from {}, compute "
      "from {}\n",
      workload.source, workload.format, workload.ranks.size(), workload.world,
      workload.exactness.sizes_from, workload.exactness.compute_from);
  for (const std::string& note : workload.notes) out << "# note: " << note << '\n';
  const auto ranks = static_cast<std::size_t>(options.run.ranks);
  if (workload.programs.size() != ranks)
    out << fmt::format("# {} ranks replay {}; sizes per rank stay as recorded\n", ranks,
                       workload.programs.size() == 1
                           ? "the one recorded program each"
                           : "the recorded programs in turn (rank r: program r mod " +
                                 std::to_string(workload.programs.size()) + ")");
  out << fmt::format("# compute x {:g}, idle time of the recording {}\n", options.compute_scale,
                     options.gaps ? "replayed as compute" : "dropped (--gaps replays it)");
  out << describe_steps(workload) << std::flush;
}

void print_measurement(std::ostream& out, const ReplayPlan& plan,
                       const std::vector<CallChoice>& choices, const ReplayMeasurement& measured,
                       const ReplayOptions& options, const ReplayEngine& engine) {
  const auto [low, high] = std::minmax_element(measured.piece_ns.begin(), measured.piece_ns.end());
  out << fmt::format(
      "# compute in pieces of {:.1f} Mflop, calibrated on all ranks at once: {:.1f} to {:.1f} us a "
      "piece; {}\n",
      static_cast<double>(engine.flops_per_piece()) / 1e6, *low / 1e3, *high / 1e3, blas_version());
  out << fmt::format("# {} bytes of buffers a rank, at most {} collectives in flight",
                     with_thousands(engine.buffer_bytes()), plan.slots);
  if (plan.early_waits > 0)
    out << fmt::format(", {} waits moved forward to stay within {}", plan.early_waits,
                       replay_slots);
  out << '\n';
  std::uint64_t wrong = 0;
  for (const CallCheck& check : measured.checks) wrong += check.wrong;
  if (measured.check_iterations > 0)
    out << fmt::format("# check: {} passes, {} wrong elements\n", measured.check_iterations, wrong);
  else
    out << "# check: off\n";
  if (options.run.format == "table") {
    print_steps(out, measured);
    print_calls(out, plan, choices, measured);
  }
  out << std::flush;
}

std::vector<Row> replay_rows(const Row& common, const ReplayPlan& plan,
                             const std::vector<CallChoice>& choices,
                             const ReplayMeasurement& measured, const ReplayOptions& options) {
  std::vector<Row> rows;
  const double confidence = options.run.sampling.confidence;
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    if (measured.call_us[i].empty()) continue;
    const CallSpec& call = plan.calls[i];
    Row row = common;
    row.test = "replay";
    row.collective = name(call.collective);
    row.algorithm_asked = choices[i].asked;
    row.algorithm_used = choices[i].used;
    row.algorithm_evidence = choices[i].evidence;
    row.bytes_asked = row.bytes_per_rank = bytes_per_rank(call);
    row.bytes_total = total_bytes(call.collective, common.ranks, row.bytes_per_rank);
    row.count = call.count;
    if (call.collective != Collective::barrier) row.dtype = name(call.dtype);
    if (reduces(call.collective)) row.op = name(ReduceOp::sum);
    if (rooted(call.collective)) row.root = call.root;
    row.in_place = call.collective == Collective::allreduce ||
                   call.collective == Collective::broadcast ||
                   call.collective == Collective::allgather;
    add_sample_flags(row, measured.call_us[i], confidence);
    row.time = summarise(measured.call_us[i], confidence);
    if (row.bytes_total > 0 && row.time->median > 0) {
      row.algbw_gbs = static_cast<double>(row.bytes_total) / row.time->median / 1e3;
      if (const auto factor = bus_factor(call.collective, common.ranks))
        row.busbw_gbs = *row.algbw_gbs * *factor;
    }
    row.check_iterations = call.collective == Collective::barrier ? 0 : measured.check_iterations;
    row.check_wrong = measured.checks[i].wrong;
    if (row.check_wrong > 0) {
      row.status = "failed";
      row.reason = "wrong data: " + measured.checks[i].first;
    }
    rows.push_back(std::move(row));
  }
  Row step = common;
  step.test = "replay_step";
  std::vector<double> times;
  for (const auto& ranks : measured.times)
    times.push_back(static_cast<double>(ranks[slowest_rank(ranks)].step) / 1e3);
  add_sample_flags(step, times, confidence);
  step.time = summarise(std::move(times), confidence);
  const auto us = [&measured](std::int64_t StepTimes::*part) {
    return finite(step_median(measured, [part](const StepTimes& t) { return ms(t.*part) * 1e3; }));
  };
  step.params["compute_us"] = us(&StepTimes::compute);
  step.params["progress_us"] = us(&StepTimes::progress);
  step.params["issue_us"] = us(&StepTimes::issue);
  step.params["exposed_us"] = us(&StepTimes::exposed);
  step.params["engine_us_per_operation"] = finite(step_median(measured, overhead_us));
  rows.push_back(std::move(step));
  return rows;
}

}  // namespace commtune
