#include "microbench/point_to_point.hpp"

#include <utility>

#include "core/error.hpp"
#include "microbench/memory.hpp"

namespace commtune {
namespace {

Row describe_row(const BenchContext& context, std::uint64_t bytes, const PointToPoint& pattern,
                 BufferKind kind) {
  Row row = context.new_row();
  context.describe_buffers(row, kind);
  row.bytes_asked = row.bytes_per_rank = row.count = bytes;
  row.bytes_total = bytes * pattern.messages;
  row.dtype = name(DataType::uint8);
  row.algorithm_asked = row.algorithm_used = "point-to-point";
  row.algorithm_evidence = "the test itself";
  if (pattern.messages > 1) row.params["window"] = pattern.messages;
  const auto& node_of = context.nodes().node_of;
  if (node_of[0] != node_of[1]) row.bytes_off_node = row.bytes_total;
  return row;
}

void check_pattern_rows(BenchContext& context, const PointToPoint& pattern, Rotation& memory,
                        Row& row) {
  Job& job = context.job();
  const std::uint64_t iterations = context.options().check;
  if (iterations == 0) return;
  job.monitor.enter(Phase::check);
  CheckSummary summary;
  for (std::uint64_t i = 0; i < iterations && job.rank() < 2; ++i) {
    const PatternResult result = pattern.checked(job, memory, context.options().seed + i);
    job.monitor.beat(i);
    const std::optional<double> ulp = result.wrong == 0 ? std::optional(0.0) : std::nullopt;
    summary.add(result.wrong, ulp,
                fmt::format("byte {}: got {}, expected {}", result.first_index, result.got,
                            result.expected));
  }
  summary.iterations = iterations;  // ranks that only watch report the same
  context.record_check(row, summary);
}

void run_size(BenchContext& context, std::uint64_t bytes, const PointToPoint& pattern,
              BufferKind kind) {
  Job& job = context.job();
  Row row = describe_row(context, bytes, pattern, kind);
  context.announce(row.test, row);
  // Timed messages share one buffer as in the OSU tests; cold and checked ones need an area each.
  const std::size_t cold_area = context.options().cold ? 2 * context.cache_bytes() : 0;
  const std::size_t check_area = context.options().check != 0 ? pattern.check_area : 0;
  const std::string shortage =
      memory_shortage(job, rotation_bytes(bytes, cold_area) + rotation_bytes(bytes, check_area),
                      context.nodes().largest);
  if (!shortage.empty()) return context.skip(std::move(row), shortage);
  std::unique_ptr<Rotation> timed, checked;
  const std::string problem = first_problem(job, [&] {
    timed = std::make_unique<Rotation>(job.transport, bytes, cold_area, kind);
    checked = std::make_unique<Rotation>(job.transport, bytes, check_area, kind);
  });
  if (!problem.empty()) {
    row.status = "failed";
    row.reason = problem;
    return context.emit(row, {});
  }
  context.probe(row, 0);
  Series series = measure_pattern(job, context.options().sampling, [&](std::uint64_t repeats) {
    if (job.rank() < 2) pattern.transfer(job, *timed, repeats);
  });
  context.probe(row, 1);
  for (double& sample : series.samples_us) sample /= pattern.divisor;
  series.first_call_us /= pattern.divisor;
  context.record_series(row, series);
  check_pattern_rows(context, pattern, *checked, row);
  context.emit(row, series);
}

}  // namespace

void run_point_to_point(BenchContext& context,
                        const std::function<PointToPoint(std::uint64_t bytes)>& make) {
  for (const std::uint64_t bytes : context.sizes()) {
    for (const BufferKind kind : context.options().buffers) {
      run_size(context, bytes, make(bytes), kind);
    }
  }
}

}  // namespace commtune
