#include "dnn_proxy/importers/captured_run.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/error.hpp"
#include "core/json.hpp"
#include "dnn_proxy/byte_source.hpp"
#include "dnn_proxy/importers/kineto_record.hpp"
#include "dnn_proxy/importers/names.hpp"

namespace commtune {
namespace {

Json read_document(const std::filesystem::path& path) {
  TraceStream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return parse_json(text, path.string());
}

/// Bounded, so that differences and middles of times fit in 64 bits.
std::int64_t time_of(const Json& value, const std::string& where) {
  const std::uint64_t time = integer_of(value, where);
  require(time < std::uint64_t{1} << 62, "{}: a time of {} is out of range", where, time);
  return static_cast<std::int64_t>(time);
}

std::uint64_t elements_of(const Json& value, const std::string& where) {
  const std::uint64_t elements = integer_of(value, where);
  require(elements <= max_elements, "{}: {} elements are more than {}", where, elements,
          max_elements);
  return elements;
}

/// Access to an object of the capture; unknown keys are fine, missing ones are not.
class Record {
 public:
  Record(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    require(json.is_object(), "{}: must be an object", where_);
  }
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    require(found != json_.end(), "{}: \"{}\" is missing", where_, key);
    return *found;
  }
  const Json& list(const char* key) const {
    const Json& value = at(key);
    require(value.is_array(), "{}: \"{}\" must be an array", where_, key);
    return value;
  }
  std::uint64_t count(const char* key) const {
    return integer_of(at(key), fmt::format("{} \"{}\"", where_, key));
  }
  std::int64_t time(const char* key) const {
    return time_of(at(key), fmt::format("{} \"{}\"", where_, key));
  }
  std::string text(const char* key) const {
    const Json& value = at(key);
    require(value.is_string(), "{}: \"{}\" must be a string", where_, key);
    return value.get<std::string>();
  }
  bool has(const char* key) const { return json_.contains(key); }
  const std::string& where() const { return where_; }

 private:
  const Json& json_;
  std::string where_;
};

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : std::midpoint(values[half - 1], values[half]);
}

CapturedStep read_step(const Json& json, const std::string& where) {
  const Record record(json, where);
  CapturedStep step;
  step.number = record.count("step");
  step.begin_ns = record.time("t0");
  step.zero_ns = record.time("zero");
  step.forward_ns = record.time("fwd");
  step.backward_ns = record.time("bwd");
  step.optimizer_ns = record.time("opt");
  step.last_ready_ns = step.forward_ns;
  for (const Json& ready : record.list("ready")) {
    require(ready.is_array() && ready.size() == 2, "{}: a ready stamp is [parameter, ns]", where);
    step.last_ready_ns = std::max(step.last_ready_ns, time_of(ready[1], where + " ready"));
  }
  for (const Json& entry : record.list("buckets")) {
    const Record bucket(entry, where + " bucket");
    step.buckets.push_back(
        {elements_of(bucket.at("numel"), bucket.where() + " \"numel\""), bucket.time("launch")});
  }
  require(!step.buckets.empty(), "{}: no buckets", where);
  require(step.begin_ns <= step.zero_ns && step.zero_ns <= step.forward_ns &&
              step.forward_ns <= step.backward_ns && step.backward_ns <= step.optimizer_ns,
          "{}: the stamps are not in order", where);
  return step;
}

/// The module buffers of a model's batch normalisation: running mean and variance of every channel
/// in float32, one step counter per layer in int64. DDP broadcasts each data type as one tensor.
struct NormBuffers {
  std::uint64_t layers = 0, channels = 0;
};
NormBuffers norm_buffers(const Record& record) {
  const Json& names = record.list("param_names");
  const Json& counts = record.list("param_numel");
  require(names.size() == counts.size(), "{}: {} parameter names, {} sizes", record.where(),
          names.size(), counts.size());
  NormBuffers buffers;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    require(names[i].is_string() && names[i + 1].is_string(),
            "{}: a parameter name must be a string", record.where());
    const auto weight = names[i].get<std::string>(), bias = names[i + 1].get<std::string>();
    const auto dot = weight.rfind(".weight");
    if (dot == std::string::npos || bias != weight.substr(0, dot) + ".bias") continue;
    if (counts[i] != counts[i + 1]) continue;
    ++buffers.layers;
    buffers.channels = checked_sum(buffers.channels, elements_of(counts[i], record.where()),
                                   record.where() + ": channels");
  }
  return buffers;
}

struct ProfiledEvent {
  std::string name;
  std::vector<std::uint64_t> sizes;  ///< elements per tensor
  std::int64_t duration_us = 0;
};

std::vector<std::vector<ProfiledEvent>> profiled_steps(const Json& json, const std::string& where) {
  require(json.is_array(), "{}: must be an array of events", where);
  std::vector<std::vector<ProfiledEvent>> steps;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Record record(json[i], fmt::format("{}: event {}", where, i));
    ProfiledEvent event{record.text("name"), {}, record.time("dur_us")};
    if (event.name.rfind("ProfilerStep", 0) == 0) steps.emplace_back();
    for (const Json& shape : record.list("shapes")) {
      require(shape.is_array(), "{}: a shape must be an array", record.where());
      std::uint64_t elements = 1;
      for (const Json& extent : shape)
        elements = checked_product(elements, integer_of(extent, record.where()), record.where());
      event.sizes.push_back(elements);
    }
    if (!steps.empty()) steps.back().push_back(std::move(event));
  }
  require(!steps.empty(), "{}: no ProfilerStep", where);
  return steps;
}

/// Communication of one profiled step, besides the gradient buckets.
struct StepExtras {
  std::vector<std::uint64_t> broadcasts;
  std::uint64_t barriers = 0;
  std::int64_t copy_back_us = 0;
};

void add_time(std::int64_t& sum_us, std::int64_t time_us, const std::string& where) {
  constexpr std::int64_t most_us = std::int64_t{1} << 50;  // in nanoseconds less than 2^62
  require(time_us <= most_us - sum_us, "{}: copies of {} us are out of range", where, time_us);
  sum_us += time_us;
}

StepExtras extras_of(const std::vector<ProfiledEvent>& step, const CapturedStep& recorded,
                     const std::string& where) {
  StepExtras extras;
  std::vector<std::uint64_t> buckets;
  for (const ProfiledEvent& event : step) {
    if (event.name == "torch.distributed.ddp.reducer::copy_bucket_to_grad")
      add_time(extras.copy_back_us, event.duration_us, where);
    if (!is_backend_annotation(event.name)) continue;
    const auto name = parse_record_name(event.name);
    require(name.has_value() && name->record == RecordKind::transfer,
            "{}: unknown collective \"{}\"", where, event.name);
    if (name->kind == CommKind::barrier) {
      ++extras.barriers;
      continue;
    }
    require(event.sizes.size() == 1, "{}: \"{}\" has {} tensors, expected 1", where, event.name,
            event.sizes.size());
    if (name->kind == CommKind::allreduce)
      buckets.push_back(event.sizes[0]);
    else if (name->kind == CommKind::broadcast)
      extras.broadcasts.push_back(event.sizes[0]);
    else
      fail(Errc::usage, "{}: a step of data parallelism does not hold \"{}\"", where, event.name);
  }
  std::vector<std::uint64_t> expected;
  for (const CapturedBucket& bucket : recorded.buckets) expected.push_back(bucket.count);
  require(buckets == expected, "{}: its allreduces are not the buckets of the hook file", where);
  return extras;
}

void add_comm_events(CapturedRank& rank, const Json& json, const std::string& where,
                     const NormBuffers& norm) {
  const auto steps = profiled_steps(json, where);
  const StepExtras first = extras_of(steps.front(), rank.steps.back(), where);
  std::vector<std::int64_t> copies;
  for (const auto& step : steps) {
    const StepExtras extras = extras_of(step, rank.steps.back(), where);
    require(extras.broadcasts == first.broadcasts && extras.barriers == first.barriers,
            "{}: its steps differ in their broadcasts or barriers", where);
    copies.push_back(extras.copy_back_us * 1000);
  }
  rank.has_comm_events = true;
  require(first.barriers <= 1, "{}: {} barriers in a step", where, first.barriers);
  rank.barrier_before_step = first.barriers == 1;
  rank.copy_back_ns = median(copies);
  for (const std::uint64_t count : first.broadcasts) {
    const bool counters = count == norm.layers;
    require(counters || count == 2 * norm.channels,
            "{}: broadcast of {} elements is neither the {} running statistics nor the {} step "
            "counters of the model's normalisation layers, so its data type is unknown",
            where, count, 2 * norm.channels, norm.layers);
    rank.broadcasts.push_back({count, counters ? DataType::int64 : DataType::float32});
  }
}

/// `path` with ".rank<from>" replaced by ".rank<to>".
std::filesystem::path sibling(const std::filesystem::path& path, std::uint64_t from,
                              std::uint64_t to) {
  std::string file = path.filename().string();
  const std::string old = fmt::format(".rank{}.", from);
  const auto at = file.find(old);
  require(at != std::string::npos, "{}: the name does not hold \"{}\"", path.string(), old);
  return path.parent_path() / file.replace(at, old.size(), fmt::format(".rank{}.", to));
}

std::filesystem::path comm_events_file(const std::filesystem::path& hook, const std::string& model,
                                       std::uint64_t rank) {
  if (model.find('/') != std::string::npos) return {};  // not a file of this folder
  for (const char* end : {".json.gz", ".json"}) {
    auto file = hook.parent_path() / fmt::format("{}.commevents.rank{}{}", model, rank, end);
    if (std::filesystem::exists(file)) return file;
  }
  return {};
}

/// The rank of a hook file, with its commevents file if there is one.
CapturedRank read_rank(const std::filesystem::path& file, const Json& hook, std::uint64_t number) {
  const auto events = comm_events_file(file, Record(hook, file.string()).text("model"), number);
  if (events.empty()) return captured_rank(hook, number, file.string());
  const Json json = read_document(events);
  return captured_rank(hook, number, file.string(), &json, events.string());
}

}  // namespace

bool is_hook_file(const std::filesystem::path& path) {
  return path.filename().string().find(".hook.rank") != std::string::npos;
}

CapturedRank captured_rank(const Json& hook, std::uint64_t number, const std::string& where,
                           const Json* comm_events, const std::string& events_where) {
  const Record record(hook, where);
  require(record.count("rank") == number, "{}: holds rank {}, expected {}", where,
          record.count("rank"), number);
  CapturedRank rank;
  const Json& steps = record.list("steps");
  require(!steps.empty(), "{}: no steps", where);
  for (std::size_t i = 0; i < steps.size(); ++i)
    rank.steps.push_back(read_step(steps[i], fmt::format("{}: step {}", where, i)));
  if (record.has("no_sync_fwd_bwd_ns")) {
    std::vector<std::int64_t> forward, backward;
    for (const Json& pass : record.list("no_sync_fwd_bwd_ns")) {
      require(pass.is_array() && pass.size() == 2, "{}: a no_sync pass is [forward, backward]",
              where);
      forward.push_back(time_of(pass[0], where));
      backward.push_back(time_of(pass[1], where));
    }
    rank.forward_ns = median(forward);
    rank.backward_ns = median(backward);
  }
  if (comm_events != nullptr)
    add_comm_events(rank, *comm_events, events_where, norm_buffers(record));
  return rank;
}

CapturedRun read_captured_run(const std::filesystem::path& hook_file) {
  const Json first = read_document(hook_file);
  const Record record(first, hook_file.string());
  CapturedRun run;
  run.model = record.text("model");
  const std::uint64_t world = record.count("world"), own = record.count("rank");
  require(world >= 1 && world <= 65536 && own < world, "{}: rank {} of {}", hook_file.string(), own,
          world);
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    const auto file = sibling(hook_file, own, rank);
    require(std::filesystem::exists(file), "{}: missing, the run has {} ranks", file.string(),
            world);
    if (rank == 0) run.source = file.filename().string();
    run.ranks.push_back(read_rank(file, rank == own ? first : read_document(file), rank));
    require(run.ranks.back().has_comm_events == run.ranks.front().has_comm_events,
            "{}: only some ranks have a commevents file", hook_file.parent_path().string());
  }
  return run;
}

}  // namespace commtune
