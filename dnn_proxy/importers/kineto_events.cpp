#include "dnn_proxy/importers/kineto_events.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "dnn_proxy/importers/chrome_trace.hpp"
#include "dnn_proxy/importers/kineto_checks.hpp"
#include "dnn_proxy/importers/kineto_record.hpp"

namespace commtune {
namespace {

constexpr std::string_view default_group = "default";

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// Operators that only enclose others or communicate; the rest is compute.
bool is_compute_operator(const ChromeEvent& event, bool legacy) {
  if (!legacy) {
    return event.category == "cpu_op" && event.name != "record_param_comms" &&
           !begins_with(event.name, "c10d::") && !is_backend_annotation(event.name);
  }
  for (const std::string_view prefix :
       {"ProfilerStep", "DistributedDataParallel", "Optimizer.", "## ", "torch.distributed",
        "enumerate(", "c10d::", "record_param_comms"})
    if (begins_with(event.name, prefix)) return false;
  return !is_backend_annotation(event.name);
}

/// One source of transfers: the records or the annotations of a trace.
struct Transfers {
  std::vector<CommRecord> records;
  std::map<CommKind, Tally> counted;
  std::map<std::string, Tally> unknown;        ///< collective names
  std::map<std::string, Tally> unknown_types;  ///< "name of type"
  std::map<std::string, Tally> sizeless;
  std::string first_sizeless;
  std::uint64_t inits = 0;
};

class Collector {
 public:
  explicit Collector(std::string path) { events_.path = std::move(path); }

  void add(const ChromeEvent& event) {
    if (event.phase != "X" || !event.timed) return;
    const std::int64_t end = event.begin_ns + event.duration_ns;
    if (event.category == "kernel" || event.category == "gpu_memcpy" ||
        event.category == "gpu_memset") {
      add_device(event);
    } else if (event.category == "cuda_runtime" || event.category == "cuda_driver" ||
               event.category == "hip_runtime") {
      if (const auto at = event.args.find("correlation"); at != event.args.end())
        events_.launches[integer(*at, "correlation")] = {thread(event.thread), event.begin_ns};
    } else if (event.category == "cpu_op" || event.category == "user_annotation" ||
               event.category.empty()) {
      add_host(event, end);
    }
  }

  KinetoEvents finish(const ChromeHeader& header) {
    events_.legacy = header.bare_array;
    read_distributed(header.distributed);
    Transfers& used = records_.records.empty() && records_.unknown.empty() &&
                              records_.unknown_types.empty() && records_.sizeless.empty()
                          ? annotations_
                          : records_;
    events_.sizes_from = &used == &records_ ? "record_param_comms" : "annotations";
    refuse(used.unknown, "unknown collective");
    refuse(used.unknown_types, "unknown element type in");
    if (!used.sizeless.empty()) refuse(used.sizeless, "no sizes in the trace for");
    events_.records = std::move(used.records);
    events_.counted = std::move(used.counted);
    events_.init_records = used.inits;
    if (first_) events_.first_ns = events_.last_ns = 0;
    finish_steps();
    finish_groups(header.distributed);
    return std::move(events_);
  }

 private:
  std::int64_t integer(const Json& value, std::string_view key) const {
    return value.is_number_integer() ? value.get<std::int64_t>()
                                     : static_cast<std::int64_t>(integer_of(
                                           value, fmt::format("{}: {}", events_.path, key)));
  }
  /// 0 where there is none.
  std::int64_t number_in(const Json& args, const char* key) const {
    const auto at = args.find(key);
    return at != args.end() && at->is_number() ? integer(*at, key) : 0;
  }

  ThreadId thread(const std::string& text) {
    return threads_.try_emplace(text, static_cast<ThreadId>(threads_.size())).first->second;
  }

  void extend(std::int64_t begin, std::int64_t end) {
    events_.first_ns = first_ ? begin : std::min(events_.first_ns, begin);
    events_.last_ns = first_ ? end : std::max(events_.last_ns, end);
    first_ = false;
  }

  void add_device(const ChromeEvent& event) {
    DeviceEvent device;
    device.event = event.index;
    device.begin_ns = event.begin_ns;
    device.end_ns = event.begin_ns + event.duration_ns;
    device.communication = is_communication_kernel(event.name);
    if (const auto at = event.args.find("correlation"); at != event.args.end())
      device.correlation = integer(*at, "correlation");
    device.stream = {number_in(event.args, "device"), number_in(event.args, "stream")};
    events_.device.push_back(device);
  }

  void add_host(const ChromeEvent& event, std::int64_t end) {
    const bool legacy = event.category.empty();
    if (event.name == "record_param_comms") {
      if (event.args.contains("Collective name"))
        add_transfer(records_, event, read_new_style(event.args, where(event)));
      else
        ++events_.bare_records;
    } else if (is_backend_annotation(event.name)) {
      add_transfer(annotations_, event, read_annotation(event, where(event)));
    } else if (begins_with(event.name, "ProfilerStep#")) {
      events_.steps.push_back({event.begin_ns, end, step_number(event)});
    } else if (is_compute_operator(event, legacy)) {
      events_.cpu.push_back({event.begin_ns, end});
    } else {
      add_phase(event, end);
    }
    if (legacy || event.category == "cpu_op" || begins_with(event.name, "ProfilerStep#") ||
        is_backend_annotation(event.name))
      extend(event.begin_ns, end);
  }

  void add_phase(const ChromeEvent& event, std::int64_t end) {
    if (event.name == "DistributedDataParallel.forward")
      events_.phases.push_back({Mark::forward, event.begin_ns, end, true});
    else if (event.name == "## forward ##")
      events_.phases.push_back({Mark::forward, event.begin_ns, end, false});
    else if (event.name == "## backward ##")
      events_.phases.push_back({Mark::backward, event.begin_ns, end, false});
    else if (begins_with(event.name, "Optimizer.step#"))
      events_.phases.push_back({Mark::optimizer, event.begin_ns, end, false});
  }

  std::string where(const ChromeEvent& event) const {
    return fmt::format("{}: event {} \"{}\"", events_.path, event.index, event.name);
  }

  std::uint64_t step_number(const ChromeEvent& event) const {
    return parse_count(std::string_view(event.name).substr(13), where(event));
  }

  void add_transfer(Transfers& into, const ChromeEvent& event, const RecordArguments& args) {
    const auto name = parse_record_name(args.name);
    const auto type = parse_element_type(args.dtype);
    const std::uint64_t elements = std::max(args.in_count.value_or(0), args.out_count.value_or(0));
    const std::uint64_t bytes =
        checked_product(elements, type ? size_of(type->type) : 1, where(event));
    if (!name) return count(into.unknown[args.name], bytes);
    CommRecord record;
    record.event = event.index;
    record.what = *name;
    record.thread = thread(event.thread);
    record.begin_ns = event.begin_ns;
    record.duration_ns = event.duration_ns;
    if (name->record == RecordKind::communicator_init) {
      ++into.inits;
      return;
    }
    if (name->record == RecordKind::transfer) {
      if (name->kind != CommKind::barrier) {
        if (!args.in_count && !args.out_count) return count(into.sizeless[args.name], 0);
        if (!type) return count(into.unknown_types[args.name + " of " + args.dtype], bytes);
        fill_sizes(record, args, *type);
      }
      record.group = find_group(event, args);
      record.async = args.async;
      record.peer = args.peer;
      record.group_size = args.group_size;
      count(into.counted[name->kind], input_bytes_of(record, where(event)));
    }
    into.records.push_back(std::move(record));
  }

  void fill_sizes(CommRecord& record, const RecordArguments& args, ElementType type) {
    record.in_count = args.in_count.value_or(0);
    record.out_count = args.out_count.value_or(0);
    record.dtype = type.type;
    record.send_splits = args.send_splits;
    record.recv_splits = args.recv_splits;
    const CommKind kind = record.what.kind;
    const bool arithmetic =
        kind == CommKind::allreduce || kind == CommKind::reduce || kind == CommKind::reduce_scatter;
    require(type.exact || !arithmetic, "{}: event {}: cannot {} {}: no such data type here",
            events_.path, record.event, args.name, args.dtype);
    if (!type.exact) events_.inexact_types = true;
  }

  /// Bytes of the calling rank's input; what is received where there is none.
  static std::uint64_t input_bytes_of(const CommRecord& record, const std::string& where) {
    if (record.what.kind == CommKind::barrier) return 0;
    if (record.what.kind == CommKind::scatter)
      return checked_product(record.out_count * size_of(record.dtype),
                             std::max<std::uint64_t>(record.group_size.value_or(1), 1), where);
    const bool one_sided = point_to_point(record.what.kind);
    return (one_sided ? std::max(record.in_count, record.out_count) : record.in_count) *
           size_of(record.dtype);
  }

  void count(Tally& tally, std::uint64_t bytes) const {
    ++tally.operations;
    tally.bytes = checked_sum(tally.bytes, bytes, events_.path + ": bytes of all operations");
  }

  std::uint32_t find_group(const ChromeEvent& event, const RecordArguments& args) {
    require(!args.group || !args.group->empty(), "{}: the process group has an empty name",
            where(event));
    const std::string name = args.group.value_or(std::string(default_group));
    std::uint32_t at = 0;
    while (at < events_.groups.size() && events_.groups[at].name != name) ++at;
    if (at == events_.groups.size()) events_.groups.push_back({name, {}});
    Group& group = events_.groups[at];
    if (group.ranks.empty()) give_ranks(group, args.group_ranks);
    require(args.group_ranks.empty() || group.ranks == args.group_ranks,
            "{}: process group \"{}\" has other ranks than before", where(event), name);
    return at;
  }

  /// A group's ranks may be told by their number alone, so a short file can ask for much memory.
  void give_ranks(Group& group, std::vector<Rank> ranks) {
    constexpr std::uint64_t most_ranks = 1U << 21;
    ranks_of_groups_ += ranks.size();
    require(ranks_of_groups_ <= most_ranks,
            "{}: all process groups together have more than {} ranks", events_.path, most_ranks);
    group.ranks = std::move(ranks);
  }

  void refuse(const std::map<std::string, Tally>& found, std::string_view what) const {
    if (found.empty()) return;
    std::string text;
    for (const auto& [name, tally] : found)
      text += fmt::format("{}\"{}\" ({} operations, {} bytes)", text.empty() ? "" : ", ", name,
                          with_thousands(tally.operations), with_thousands(tally.bytes));
    fail(Errc::usage, "{}: {} {}", events_.path, what, text);
  }

  void read_distributed(const Json& distributed) {
    if (!distributed.is_object()) return;
    const std::string where = events_.path + ": distributedInfo";
    if (const auto at = distributed.find("rank"); at != distributed.end())
      events_.rank = rank_of(*at, where + " rank");
    if (const auto at = distributed.find("world_size"); at != distributed.end())
      events_.world = rank_of(*at, where + " world_size");
    require(!events_.rank || !events_.world || *events_.rank < *events_.world,
            "{}: rank {} of a world_size of {}", where, events_.rank.value_or(0),
            events_.world.value_or(0));
  }

  void finish_steps() {
    auto& steps = events_.steps;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const StepSpan& a, const StepSpan& b) { return a.begin_ns < b.begin_ns; });
    // A step annotated on several threads counts once; steps never overlap.
    steps.erase(
        std::unique(steps.begin(), steps.end(),
                    [](const StepSpan& a, const StepSpan& b) { return a.number == b.number; }),
        steps.end());
    for (std::size_t i = 0; i + 1 < steps.size(); ++i)
      steps[i].end_ns = std::min(steps[i].end_ns, steps[i + 1].begin_ns);
    std::stable_sort(
        events_.phases.begin(), events_.phases.end(),
        [](const PhaseSpan& a, const PhaseSpan& b) { return a.begin_ns < b.begin_ns; });
  }

  void finish_groups(const Json& distributed) {
    if (distributed.is_object() && distributed.contains("pg_config") &&
        distributed["pg_config"].is_array())
      for (const Json& entry : distributed["pg_config"]) use_config(entry);
    Rank world = events_.world.value_or(1);
    if (!events_.world)
      for (const Group& group : events_.groups)
        for (const Rank rank : group.ranks) world = std::max(world, rank + 1);
    events_.world = std::max(world, events_.rank.value_or(0) + 1);
    std::vector<Rank> all_ranks(static_cast<std::size_t>(*events_.world));
    std::iota(all_ranks.begin(), all_ranks.end(), 0);
    for (Group& group : events_.groups)
      if (group.ranks.empty() && !has_no_ranks(group)) give_ranks(group, all_ranks);
    check_records(events_);
  }

  bool has_no_ranks(const Group& group) const {
    return std::find(events_.empty_groups.begin(), events_.empty_groups.end(), group.name) !=
           events_.empty_groups.end();
  }

  void use_config(const Json& entry) {
    if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks")) return;
    const std::string where = events_.path + ": distributedInfo pg_config";
    const Json& name = entry["pg_name"];
    const std::string text = name.is_string() ? name.get<std::string>() : name.dump();
    if (entry.contains("pg_size") && integer_of(entry["pg_size"], where) == 0 &&
        integers_of(entry["ranks"], 0, where).empty())
      events_.empty_groups.push_back(text);
    for (Group& group : events_.groups) {
      if (group.name != text || !group.ranks.empty()) continue;
      const std::uint64_t size =
          entry.contains("pg_size") ? integer_of(entry["pg_size"], where) : 0;
      std::vector<Rank> ranks;
      for (const std::uint64_t rank : integers_of(entry["ranks"], size, where))
        ranks.push_back(rank_of(Json(rank), where));
      give_ranks(group, std::move(ranks));
    }
  }

  KinetoEvents events_;
  Transfers records_, annotations_;
  std::map<std::string, ThreadId> threads_;
  std::uint64_t ranks_of_groups_ = 0;
  bool first_ = true;
};

}  // namespace

KinetoEvents read_kineto(const std::filesystem::path& path) {
  Collector collector(path.string());
  const ChromeHeader header =
      read_chrome_trace(path, [&collector](const ChromeEvent& event) { collector.add(event); });
  return collector.finish(header);
}

}  // namespace commtune
