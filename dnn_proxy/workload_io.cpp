#include <fstream>
#include <istream>
#include <sstream>

#include "core/error.hpp"
#include "core/json.hpp"
#include "dnn_proxy/byte_source.hpp"
#include "dnn_proxy/workload.hpp"

namespace commtune {
namespace {

constexpr std::string_view schema = "commtune.workload/1";

Json header_json(const Workload& workload) {
  Json groups = Json::array();
  for (const Group& group : workload.groups)
    groups.push_back({{"name", group.name}, {"ranks", group.ranks}});
  std::uint64_t steps = 0;
  for (const auto& program : workload.programs) steps = std::max(steps, count_steps(program));
  return {{"schema", schema},
          {"format", workload.format},
          {"source", workload.source},
          {"world", workload.world},
          {"ranks", workload.ranks},
          {"groups", groups},
          {"steps", steps},
          {"exactness",
           {{"has_time", workload.exactness.has_time},
            {"has_gap", workload.exactness.has_gap},
            {"has_align", workload.exactness.has_align},
            {"sizes_from", workload.exactness.sizes_from},
            {"compute_from", workload.exactness.compute_from}}},
          {"notes", workload.notes}};
}

void add_transfer(Json& line, const WorkloadOp& op, const Workload& workload) {
  line["kind"] = name(op.kind);
  line["group"] = workload.groups.at(op.group).name;
  line["count"] = op.count;
  line["bytes"] = bytes_of(op);
  line["dtype"] = name(op.dtype);
  if (point_to_point(op.kind)) line["peer"] = op.root;
  if (rooted(op.kind)) line["root"] = op.root;
  if (!op.send_splits.empty()) line["send_splits"] = op.send_splits;
  if (!op.recv_splits.empty()) line["recv_splits"] = op.recv_splits;
  if (op.async_id) line["async"] = *op.async_id;
}

Json op_json(Rank rank, const WorkloadOp& op, const Workload& workload) {
  Json line = {{"rank", rank}, {"op", name(op.op)}};
  switch (op.op) {
    case WorkloadOpKind::compute:
      if (op.flops > 0)
        line["flops"] = op.flops;
      else
        line["duration_ns"] = op.duration_ns;
      if (!op.shape.empty()) line["shape"] = op.shape;
      line["gap_ns"] = op.gap_ns;
      break;
    case WorkloadOpKind::collective:
    case WorkloadOpKind::p2p:
      add_transfer(line, op, workload);
      break;
    case WorkloadOpKind::wait:
      line["async"] = op.async_id.value_or(0);
      break;
    case WorkloadOpKind::mark:
      line["kind"] = name(op.mark);
      line["step"] = op.step;
      if (op.recorded_ns != 0) line["recorded_ns"] = op.recorded_ns;
      break;
  }
  return line;
}

std::vector<std::uint64_t> counts(const Json& array, const std::string& where) {
  require(array.is_array(), "{}: must be an array", where);
  std::vector<std::uint64_t> values;
  for (const Json& value : array) {
    require(value.is_number_unsigned(), "{}: {} is not a non-negative integer", where,
            value.dump());
    values.push_back(value.get<std::uint64_t>());
  }
  return values;
}

Rank to_rank(std::uint64_t value, const std::string& where) {
  require(value <= 1'048'576, "{}: {} is not a rank", where, value);
  return static_cast<Rank>(value);
}

std::vector<Rank> rank_list(const Json& array, const std::string& where) {
  std::vector<Rank> ranks;
  for (const std::uint64_t value : counts(array, where)) ranks.push_back(to_rank(value, where));
  return ranks;
}

std::int64_t nanoseconds(StrictObject& object, std::string_view key) {
  const std::uint64_t value = object.count(key);
  require(value <= 1ULL << 62, "{}: {} of {} ns is too long", object.where(), key, value);
  return static_cast<std::int64_t>(value);
}

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Workload read(std::istream& in) {
    std::string text;
    std::uint64_t offset = 0, line = 0;
    while (std::getline(in, text)) {
      ++line;
      const std::string where = fmt::format("{} line {} (at byte {})", source_, line, offset);
      require(!in.eof(), "{}: the line is cut off", where);
      if (line == 1)
        read_header(parse_json(text, where), where);
      else
        read_op(parse_json(text, where), where);
      offset += text.size() + 1;
    }
    require(line > 0, "{}: empty file, expected a {} header", source_, schema);
    require(ops_ > 0, "{}: a header without operations: nothing to replay", source_);
    for (const auto& program : workload_.programs)
      require(!steps_ || count_steps(program) <= *steps_, "{}: more steps than the header's {}",
              source_, steps_.value_or(0));
    validate(workload_, source_);
    return std::move(workload_);
  }

 private:
  void read_header(const Json& json, const std::string& where) {
    require(json.is_object(), "{}: the header must be an object", where);
    StrictObject header(json, where);
    const std::string found = header.string("schema");
    require(found == schema, "{}: schema \"{}\", this program reads \"{}\"", where, found, schema);
    workload_.format = optional_string(header, "format", "unknown");
    workload_.source =
        optional_string(header, "source", std::filesystem::path(source_).filename().string());
    workload_.world = to_rank(header.count("world"), where + " world");
    workload_.ranks = rank_list(header.at("ranks"), where + " ranks");
    workload_.programs.resize(workload_.ranks.size());
    const Json& groups = header.at("groups");
    require(groups.is_array(), "{}: groups must be an array", where);
    for (const Json& entry : groups) {
      StrictObject group(entry, where + " groups");
      workload_.groups.push_back(
          {group.string("name"), rank_list(group.at("ranks"), where + " groups")});
      group.finish();
    }
    if (header.find("steps") != nullptr) steps_ = header.count("steps");
    if (const Json* exactness = header.find("exactness"))
      read_exactness(*exactness, where + " exactness");
    if (const Json* notes = header.find("notes")) read_notes(*notes, where);
    header.finish();
  }

  void read_notes(const Json& notes, const std::string& where) {
    require(notes.is_array(), "{}: notes must be an array", where);
    for (const Json& note : notes) {
      require(note.is_string(), "{}: a note must be a string", where);
      workload_.notes.push_back(note.get<std::string>());
    }
  }

  void read_exactness(const Json& json, const std::string& where) {
    StrictObject object(json, where);
    Exactness& exactness = workload_.exactness;
    exactness.has_time = object.boolean("has_time");
    exactness.has_gap = object.boolean("has_gap");
    exactness.has_align = object.boolean("has_align");
    exactness.sizes_from = object.string("sizes_from");
    exactness.compute_from = object.string("compute_from");
    object.finish();
  }

  void read_op(const Json& json, const std::string& where) {
    require(json.is_object(), "{}: an operation must be an object", where);
    StrictObject object(json, where);
    const Rank rank = to_rank(object.count("rank"), where + " rank");
    std::size_t program = 0;
    while (program < workload_.ranks.size() && workload_.ranks[program] != rank) ++program;
    require(program < workload_.ranks.size(), "{}: rank {} is not in the header", where, rank);
    WorkloadOp op;
    op.op = parse_workload_op_kind(object.string("op"), where + " op");
    switch (op.op) {
      case WorkloadOpKind::compute:
        read_compute(object, op);
        break;
      case WorkloadOpKind::collective:
      case WorkloadOpKind::p2p:
        read_transfer(object, op);
        break;
      case WorkloadOpKind::wait:
        op.async_id = object.count("async");
        break;
      case WorkloadOpKind::mark:
        op.mark = parse_mark(object.string("kind"), where + " kind");
        op.step = object.count("step");
        if (object.find("recorded_ns") != nullptr)
          op.recorded_ns = nanoseconds(object, "recorded_ns");
        break;
    }
    object.finish();
    workload_.programs[program].push_back(std::move(op));
    ++ops_;
  }

  void read_transfer(StrictObject& object, WorkloadOp& op) {
    const std::string& where = object.where();
    op.kind = parse_comm_kind(object.string("kind"), where + " kind");
    const std::string group = object.string("group");
    while (op.group < workload_.groups.size() && workload_.groups[op.group].name != group)
      ++op.group;
    require(op.group < workload_.groups.size(), "{}: group \"{}\" is not in the header", where,
            group);
    read_size(object, op);
    if (point_to_point(op.kind))
      op.root = to_rank(object.count("peer"), where + " peer");
    else if (object.find("root") != nullptr)
      op.root = to_rank(object.count("root"), where + " root");
    read_splits(object, op);
    if (object.find("async") != nullptr) op.async_id = object.count("async");
  }

  /// Elements from `count`, from `bytes` or from both, which must agree; a barrier needs neither.
  static void read_size(StrictObject& object, WorkloadOp& op) {
    const std::string& where = object.where();
    const bool counted = object.find("count") != nullptr;
    const bool sized = object.find("bytes") != nullptr;
    const bool barrier = op.kind == CommKind::barrier;
    if (!barrier || object.find("dtype") != nullptr)
      op.dtype = parse_data_type(object.string("dtype"), where + " dtype");
    require(counted || sized || barrier, "{}: {} needs \"count\" or \"bytes\"", where,
            name(op.kind));
    const std::uint64_t bytes = sized ? object.count("bytes") : 0;
    op.count = counted ? object.count("count") : bytes / size_of(op.dtype);
    require(op.count <= max_elements, "{}: {} elements are more than {}", where, op.count,
            max_elements);
    if (sized && !counted)
      require(bytes == bytes_of(op), "{}: {} bytes are not a whole number of {}", where, bytes,
              name(op.dtype));
    require(!sized || bytes == bytes_of(op), "{}: {} {} are {} bytes, not {}", where, op.count,
            name(op.dtype), bytes_of(op), bytes);
  }

  static void read_splits(StrictObject& object, WorkloadOp& op) {
    const std::string& where = object.where();
    if (const Json* splits = object.find("send_splits"))
      op.send_splits = counts(*splits, where + " send_splits");
    if (const Json* splits = object.find("recv_splits"))
      op.recv_splits = counts(*splits, where + " recv_splits");
    const Json* both = object.find("splits");
    if (both == nullptr) return;
    require(op.send_splits.empty() && op.recv_splits.empty(),
            "{}: splits beside send_splits or recv_splits", where);
    if (!both->is_object()) {
      op.send_splits = op.recv_splits = counts(*both, where + " splits");
      return;
    }
    StrictObject parts(*both, where + " splits");
    op.send_splits = counts(parts.at("send"), where + " splits send");
    op.recv_splits = counts(parts.at("recv"), where + " splits recv");
    parts.finish();
  }

  static void read_compute(StrictObject& object, WorkloadOp& op) {
    const std::string& where = object.where();
    const bool timed = object.find("duration_ns") != nullptr;
    require(timed != (object.find("flops") != nullptr),
            "{}: compute needs either \"duration_ns\" or \"flops\"", where);
    if (timed) {
      op.duration_ns = nanoseconds(object, "duration_ns");
    } else {
      op.flops = object.count("flops");
      require(op.flops >= 1 && op.flops <= 1ULL << 62, "{}: flops of {}", where, op.flops);
    }
    if (object.find("gap_ns") != nullptr) op.gap_ns = nanoseconds(object, "gap_ns");
    if (const Json* shape = object.find("shape")) op.shape = counts(*shape, where + " shape");
  }

  static std::string optional_string(StrictObject& object, std::string_view key,
                                     std::string fallback) {
    return object.find(key) == nullptr ? std::move(fallback) : object.string(key);
  }

  std::string source_;
  Workload workload_;
  std::optional<std::uint64_t> steps_;
  std::uint64_t ops_ = 0;
};

void write_text(std::ostream& out, const Workload& workload) {
  out << header_json(workload).dump() << '\n';
  for (std::size_t i = 0; i < workload.programs.size(); ++i)
    for (const WorkloadOp& op : workload.programs[i])
      out << op_json(workload.ranks[i], op, workload).dump() << '\n';
}

}  // namespace

std::string format_workload(const Workload& workload) {
  std::ostringstream out;
  write_text(out, workload);
  return std::move(out).str();
}

Workload parse_workload(std::istream& in, const std::string& source) {
  in.exceptions(std::ios::badbit);
  return Reader(source).read(in);
}

Workload read_workload(const std::filesystem::path& path) {
  TraceStream in(path);
  return parse_workload(in, path.string());
}

void write_workload(const std::filesystem::path& path, const Workload& workload) {
  validate(workload, path.string());
  std::ostringstream text;
  write_text(text, workload);
  write_text_atomically(path, std::move(text).str());
}

}  // namespace commtune
