#include <algorithm>

#include "core/error.hpp"
#include "dnn_proxy/importers/captured_run.hpp"
#include "dnn_proxy/importers/importer.hpp"

namespace commtune {
namespace {

bool sniff(const TraceProbe& probe) {
  if (probe.directory) {
    for (const auto& file : trace_files(probe.path))
      if (is_hook_file(file)) return true;
    return false;
  }
  return probe.head.find("\"mode\": \"hook\"") != std::string::npos &&
         probe.head.find("\"steps\"") != std::string::npos;
}

std::filesystem::path hook_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return path;
  std::vector<std::filesystem::path> runs;
  for (const auto& file : trace_files(path))
    if (is_hook_file(file) && file.string().find(".rank0.") != std::string::npos)
      runs.push_back(file);
  require(!runs.empty(), "{}: no hook file of rank 0", path.string());
  std::string names;
  for (const auto& run : runs) names += "\n  " + run.string();
  require(runs.size() == 1, "{}: holds several runs, give the file of one:{}", path.string(),
          names);
  return runs.front();
}

class ProgramWriter {
 public:
  explicit ProgramWriter(const CapturedRank& rank) : rank_(rank) {}

  std::vector<WorkloadOp> write() {
    for (const CapturedStep& step : rank_.steps) write_step(step);
    return std::move(ops_);
  }

 private:
  void write_step(const CapturedStep& step) {
    if (rank_.barrier_before_step) transfer(CommKind::barrier, 0, DataType::uint8, false);
    mark(Mark::step_begin, step, 0);
    compute(step.zero_ns - step.begin_ns);
    mark(Mark::forward, step, 0);
    for (const CapturedBroadcast& buffer : rank_.broadcasts)
      transfer(CommKind::broadcast, buffer.count, buffer.dtype, false);
    compute(rank_.forward_ns > 0 ? rank_.forward_ns : step.forward_ns - step.zero_ns);
    mark(Mark::backward, step, 0);
    const std::uint64_t first = next_id_;
    write_backward(step);
    std::uint64_t total = 0;
    for (const CapturedBucket& bucket : step.buckets)
      total = checked_sum(total, bucket.count, "elements of all buckets");
    for (std::size_t i = 0; i < step.buckets.size(); ++i) {
      WorkloadOp wait;
      wait.op = WorkloadOpKind::wait;
      wait.async_id = first + i;
      ops_.push_back(wait);
      compute(scaled(rank_.copy_back_ns, step.buckets[i].count, total));
    }
    mark(Mark::optimizer, step, 0);
    compute(step.optimizer_ns - step.backward_ns);
    mark(Mark::step_end, step, step.optimizer_ns - step.begin_ns);
  }

  /// The buckets launch at their recorded fractions of the backward pass; its length is that of a
  /// pass without communication, because the recorded one shares its core with the allreduces.
  void write_backward(const CapturedStep& step) {
    const std::int64_t recorded = std::max<std::int64_t>(step.last_ready_ns - step.forward_ns, 1);
    const std::int64_t target = rank_.backward_ns > 0 ? rank_.backward_ns : recorded;
    std::int64_t done = 0;
    for (const CapturedBucket& bucket : step.buckets) {
      const std::int64_t at =
          std::clamp<std::int64_t>(bucket.launch_ns - step.forward_ns, 0, recorded);
      const std::int64_t point = std::max(
          done, static_cast<std::int64_t>(static_cast<double>(target) * static_cast<double>(at) /
                                          static_cast<double>(recorded)));
      compute(point - done);
      done = point;
      transfer(CommKind::allreduce, bucket.count, DataType::float32, true);
    }
    compute(target - done);
  }

  static std::int64_t scaled(std::int64_t ns, std::uint64_t part, std::uint64_t whole) {
    return whole == 0
               ? 0
               : static_cast<std::int64_t>(static_cast<double>(ns) * static_cast<double>(part) /
                                           static_cast<double>(whole));
  }

  void compute(std::int64_t ns) {
    if (ns <= 0) return;
    WorkloadOp op;
    op.duration_ns = ns;
    ops_.push_back(op);
  }
  void mark(Mark mark, const CapturedStep& step, std::int64_t recorded_ns) {
    WorkloadOp op;
    op.op = WorkloadOpKind::mark;
    op.mark = mark;
    op.step = step.number;
    op.recorded_ns = recorded_ns;
    ops_.push_back(op);
  }
  void transfer(CommKind kind, std::uint64_t count, DataType dtype, bool async) {
    WorkloadOp op;
    op.op = WorkloadOpKind::collective;
    op.kind = kind;
    op.count = count;
    op.dtype = dtype;
    if (async) op.async_id = next_id_++;
    ops_.push_back(op);
  }

  const CapturedRank& rank_;
  std::vector<WorkloadOp> ops_;
  std::uint64_t next_id_ = 0;
};

/// What the files hold, counted before operations are built from it.
std::map<CommKind, Tally> count_capture(const CapturedRank& rank) {
  std::map<CommKind, Tally> counted;
  for (const CapturedStep& step : rank.steps) {
    for (const CapturedBucket& bucket : step.buckets) {
      Tally& tally = counted[CommKind::allreduce];
      tally.operations += 1;
      tally.bytes += bucket.count * size_of(DataType::float32);
    }
    for (const CapturedBroadcast& buffer : rank.broadcasts) {
      Tally& tally = counted[CommKind::broadcast];
      tally.operations += 1;
      tally.bytes += buffer.count * size_of(buffer.dtype);
    }
    if (rank.barrier_before_step) counted[CommKind::barrier].operations += 1;
  }
  return counted;
}

void write_notes(Workload& workload, const CapturedRun& run) {
  const CapturedRank& first = run.ranks.front();
  workload.exactness = {true, false, true, first.has_comm_events ? "hook and commevents" : "hook",
                        first.backward_ns > 0 ? "no_sync_scaled" : "stamps"};
  auto& notes = workload.notes;
  notes.push_back(fmt::format("model {}, gradients in float32", run.model));
  if (first.backward_ns > 0)
    notes.push_back(
        "forward and backward last as long as without communication (median of no_sync); buckets "
        "launch at their recorded fractions of the backward pass");
  if (!first.has_comm_events) {
    notes.push_back("broadcasts of buffers and barriers are absent: no commevents file beside");
  } else {
    notes.push_back(
        "broadcasts of buffers, barriers and the copies back into gradients come from the "
        "commevents file, a profiled run of the same program");
    notes.push_back("a barrier lies before every step, outside its time");
  }
}

Import import_captured(const std::filesystem::path& path) {
  return import_captured_run(read_captured_run(hook_file(path)), path.string());
}

}  // namespace

Import import_captured_run(const CapturedRun& run, const std::string& where) {
  Workload workload;
  workload.format = "captured-ddp";
  workload.source = run.source;
  workload.world = static_cast<Rank>(run.ranks.size());
  Group world{"world", {}};
  TallyTable counted;
  for (Rank rank = 0; rank < workload.world; ++rank) {
    const CapturedRank& captured = run.ranks[static_cast<std::size_t>(rank)];
    auto tallies = count_capture(captured);
    for (const auto& [kind, tally] : tallies) counted[{rank, kind}] = tally;
    world.ranks.push_back(rank);
    workload.ranks.push_back(rank);
    workload.programs.push_back(ProgramWriter(captured).write());
  }
  workload.groups.push_back(std::move(world));
  write_notes(workload, run);
  validate(workload, where);
  ConservationReport report = conserve(counted, workload);
  return {std::move(workload), std::move(report)};
}

extern const Importer captured_ddp_importer;
const Importer captured_ddp_importer = {
    "captured-ddp",
    "instrumented DistributedDataParallel run: a <model>.hook.rank<r>.json[.gz] file, its siblings "
    "found beside it, or their directory",
    sniff, import_captured};

}  // namespace commtune
