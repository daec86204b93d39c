#include <algorithm>

#include "core/error.hpp"
#include "dnn_proxy/importers/importer.hpp"
#include "dnn_proxy/importers/kineto_program.hpp"

namespace commtune {
namespace {

bool sniff(const TraceProbe& probe) {
  const std::string& head = probe.head;
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  const auto has = [&head](std::string_view text) { return head.find(text) != std::string::npos; };
  if (head[first] == '{')
    return has("\"traceEvents\"") || has("\"distributedInfo\"") || has("\"deviceProperties\"");
  return head[first] == '[' && has("\"ph\"");
}

struct RankTrace {
  KinetoEvents events;
  KinetoProgram program;
};

/// Indices of a file's groups in the workload. Disjoint groups may share a name (a data-parallel
/// group per part of the model): the second gets "#2" appended, and so on.
std::vector<std::uint32_t> merge_groups(Workload& workload, const KinetoEvents& events) {
  std::vector<std::uint32_t> index;
  for (const Group& group : events.groups) {
    std::uint32_t at = 0, same_name = 0;
    for (; at < workload.groups.size(); ++at) {
      const Group& other = workload.groups[at];
      if (other.name != group.name && other.name.rfind(group.name + "#", 0) != 0) continue;
      if (other.ranks == group.ranks) break;
      ++same_name;
    }
    if (at == workload.groups.size()) {
      workload.groups.push_back(group);
      if (same_name > 0) workload.groups.back().name += fmt::format("#{}", same_name + 1);
    }
    index.push_back(at);
  }
  return index;
}

void add_rank(Workload& workload, TallyTable& counted, RankTrace trace, Rank rank) {
  const auto index = merge_groups(workload, trace.events);
  for (WorkloadOp& op : trace.program.operations)
    if (op.op == WorkloadOpKind::collective || op.op == WorkloadOpKind::p2p)
      op.group = index.at(op.group);
  workload.ranks.push_back(rank);
  workload.programs.push_back(std::move(trace.program.operations));
  for (const auto& [kind, tally] : trace.events.counted) counted[{rank, kind}] = tally;
}

void refuse_nothing(const Workload& workload, const TallyTable& counted) {
  std::uint64_t operations = 0, bytes = 0;
  bool compute = false;
  for (const auto& [key, tally] : counted) {
    operations += tally.operations;
    bytes += tally.bytes;
  }
  for (const auto& program : workload.programs)
    for (const WorkloadOp& op : program)
      compute |= op.op == WorkloadOpKind::compute && op.duration_ns > 0;
  require(bytes > 0 || (operations == 0 && compute),
          "{}: nothing to replay: {} communication operations that move 0 bytes", workload.source,
          operations);
}

void write_notes(Workload& workload, const RankTrace& trace) {
  const KinetoProgram& program = trace.program;
  workload.exactness.sizes_from = trace.events.sizes_from;
  workload.exactness.compute_from = program.compute_from;
  workload.exactness.has_time = workload.exactness.has_gap = program.compute_from != "none";
  auto& notes = workload.notes;
  if (program.assumed_async > 0)
    notes.push_back(fmt::format(
        "{} allreduces without an async flag lie between the forward pass and the optimizer of "
        "their step: gradient buckets, waited for before the optimizer",
        program.assumed_async));
  if (program.assumed_sync > 0)
    notes.push_back(
        fmt::format("{} operations without an async flag are synchronous", program.assumed_sync));
  if (program.idle_waits > 0)
    notes.push_back(fmt::format(
        "{} stream waits follow synchronous operations and are part of them", program.idle_waits));
  if (trace.events.sizes_from == "annotations" && trace.events.bare_records > 0)
    notes.push_back(fmt::format("{} record_param_comms without arguments: the annotations count",
                                trace.events.bare_records));
  if (trace.events.init_records > 0)
    notes.push_back(fmt::format("{} communicator initialisations are not transfers",
                                trace.events.init_records));
  if (trace.events.inexact_types)
    notes.push_back("eight-bit floats are moved as uint8, which has the same bytes");
  notes.push_back("the trace does not record roots: rank 0 of the group");
}

void note_empty_groups(Workload& workload, const KinetoEvents& events) {
  for (const std::string& name : events.empty_groups) {
    std::string note =
        fmt::format("process group \"{}\" has no ranks and no operation uses it: skipped", name);
    if (std::find(workload.notes.begin(), workload.notes.end(), note) == workload.notes.end())
      workload.notes.push_back(std::move(note));
  }
}

RankTrace read_rank(const std::filesystem::path& file) {
  RankTrace trace;
  trace.events = read_kineto(file);
  trace.program = build_program(trace.events);
  // Only what the workload needs outlives this call: the events of a trace may be large.
  trace.events.device = {};
  trace.events.launches = {};
  trace.events.cpu = {};
  return trace;
}

std::vector<RankTrace> read_all(const std::filesystem::path& path) {
  std::vector<RankTrace> traces;
  if (!std::filesystem::is_directory(path)) {
    traces.push_back(read_rank(path));
    return traces;
  }
  for (const auto& file : trace_files(path)) traces.push_back(read_rank(file));
  std::stable_sort(traces.begin(), traces.end(), [](const RankTrace& a, const RankTrace& b) {
    return a.events.rank.value_or(0) < b.events.rank.value_or(0);
  });
  const Rank world = *traces.front().events.world;
  if (traces.size() == 1) return traces;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const KinetoEvents& events = traces[i].events;
    require(events.rank.has_value(), "{}: does not say which rank it is of", events.path);
    require(*events.world == world, "{}: of a world of {}, the other files of {}", events.path,
            *events.world, world);
    require(i == 0 || *events.rank != *traces[i - 1].events.rank, "{} and {} are both of rank {}",
            traces[i - 1].events.path, events.path, *events.rank);
    require(*events.rank == static_cast<Rank>(i), "{}: no file for rank {} of {}", path.string(), i,
            world);
  }
  require(traces.size() == static_cast<std::size_t>(world), "{}: no file for rank {} of {}",
          path.string(), traces.size(), world);
  return traces;
}

Import import_kineto(const std::filesystem::path& path) {
  std::vector<RankTrace> traces = read_all(path);
  Workload workload;
  workload.format = "kineto";
  workload.source =
      path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
  workload.world = *traces.front().events.world;
  write_notes(workload, traces.front());
  if (traces.size() == 1 && workload.world > 1)
    workload.notes.push_back(fmt::format(
        "recorded on rank {} of {} only: a replay gives every rank this program, sizes unchanged",
        traces.front().events.rank.value_or(0), workload.world));
  for (const RankTrace& trace : traces) note_empty_groups(workload, trace.events);
  TallyTable counted;
  for (RankTrace& trace : traces) {
    const Rank rank = trace.events.rank.value_or(0);
    add_rank(workload, counted, std::move(trace), rank);
  }
  refuse_nothing(workload, counted);
  validate(workload, path.string());
  check_ranks_agree(workload);
  ConservationReport report = conserve(counted, workload);
  return {std::move(workload), std::move(report)};
}

}  // namespace

extern const Importer kineto_importer;
const Importer kineto_importer = {
    "kineto", "PyTorch profiler trace (.json, .json.gz), one rank, or a directory of one per rank",
    sniff, import_kineto};

}  // namespace commtune
