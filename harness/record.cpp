#include "harness/record.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.hpp"

namespace commtune {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

template <class T>
Json number_or_null(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_floating_point_v<T>) return finite(*value);
  return Json(*value);
}

constexpr std::array<std::pair<std::string_view, double TimeSummary::*>, 10> time_fields = {{
    {"median", &TimeSummary::median},
    {"ci_low", &TimeSummary::ci_low},
    {"ci_high", &TimeSummary::ci_high},
    {"mean", &TimeSummary::mean},
    {"min", &TimeSummary::min},
    {"p50", &TimeSummary::p50},
    {"p90", &TimeSummary::p90},
    {"p95", &TimeSummary::p95},
    {"p99", &TimeSummary::p99},
    {"max", &TimeSummary::max},
}};

Json time_to_json(const std::optional<TimeSummary>& time) {
  if (!time) return {};
  Json object = Json::object();
  for (const auto& [key, member] : time_fields) object[std::string(key)] = finite(*time.*member);
  object["samples"] = time->samples;
  return object;
}

Json pair_to_json(const std::optional<double> (&values)[2]) {
  return Json::array({number_or_null(values[0]), number_or_null(values[1])});
}

Json straggler_to_json(const std::optional<Stragglers>& stragglers) {
  if (!stragglers) return {};
  const auto one = [](const Straggler& straggler) -> Json {
    return {{"rank", straggler.rank}, {"host", straggler.host}, {"share", straggler.share}};
  };
  return {{"last_in", one(stragglers->last_in)}, {"last_out", one(stragglers->last_out)}};
}

std::string optional_text(StrictObject& object, std::string_view key) {
  const Json& value = object.at(key);
  if (value.is_null()) return {};
  require(value.is_string(), "{}: {} is not a string or null", object.where(), key);
  return value.get<std::string>();
}

std::optional<double> optional_number(const Json& value, const std::string& where,
                                      std::string_view key) {
  if (value.is_null()) return std::nullopt;
  require(value.is_number(), "{}: {} is not a number or null", where, key);
  return value.get<double>();
}

std::optional<double> optional_number(StrictObject& object, std::string_view key) {
  return optional_number(object.at(key), object.where(), key);
}

/// null stands for a value that was not finite.
double number_or_nan(StrictObject& object, std::string_view key) {
  return optional_number(object, key).value_or(std::numeric_limits<double>::quiet_NaN());
}

int positive_int(StrictObject& object, std::string_view key, std::uint64_t lowest) {
  const std::uint64_t value = object.count(key);
  require(value >= lowest && value <= std::numeric_limits<int>::max(), "{}: {} is {}",
          object.where(), key, value);
  return static_cast<int>(value);
}

std::string one_of(StrictObject& object, std::string_view key,
                   std::initializer_list<std::string_view> allowed) {
  std::string value = object.string(key);
  std::string valid;
  for (const std::string_view word : allowed) {
    if (value == word) return value;
    valid += valid.empty() ? "" : ", ";
    valid += word;
  }
  fail(Errc::usage, "{}: {} is \"{}\", must be one of {}", object.where(), key, value, valid);
}

std::optional<TimeSummary> read_time(StrictObject& row) {
  const Json& value = row.at("time_us");
  if (value.is_null()) return std::nullopt;
  StrictObject object(value, row.where() + ": time_us");
  TimeSummary time;
  for (const auto& [key, member] : time_fields) time.*member = number_or_nan(object, key);
  time.samples = static_cast<std::size_t>(object.count("samples"));
  object.finish();
  return time;
}

Straggler read_straggler(StrictObject& both, std::string_view key) {
  StrictObject object(both.at(key), fmt::format("{}: {}", both.where(), key));
  Straggler straggler{positive_int(object, "rank", 0), object.string("host"),
                      object.number("share")};
  require(straggler.share > 0 && straggler.share <= 1, "{}: share is {}", object.where(),
          straggler.share);
  object.finish();
  return straggler;
}

/// Files of earlier versions have none.
std::optional<Stragglers> read_stragglers(StrictObject& row) {
  const Json* value = row.find("straggler");
  if (value == nullptr || value->is_null()) return std::nullopt;
  StrictObject both(*value, row.where() + ": straggler");
  Stragglers stragglers{read_straggler(both, "last_in"), read_straggler(both, "last_out")};
  both.finish();
  return stragglers;
}

void read_pair(StrictObject& object, std::string_view key, std::optional<double> (&values)[2]) {
  const Json& array = object.at(key);
  require(array.is_array() && array.size() == 2, "{}: {} is not [before, after]", object.where(),
          key);
  for (std::size_t i = 0; i < 2; ++i) {
    values[i] = optional_number(array[i], object.where(), key);
  }
}

void read_nested(StrictObject& object, Row& row) {
  StrictObject algorithm(object.at("algorithm"), object.where() + ": algorithm");
  row.algorithm_asked = optional_text(algorithm, "asked");
  row.algorithm_used = optional_text(algorithm, "used");
  row.algorithm_evidence = optional_text(algorithm, "evidence");
  algorithm.finish();

  row.params = object.at("params");
  require(row.params.is_object(), "{}: params is not an object", object.where());

  StrictObject machine(object.at("machine_state"), object.where() + ": machine_state");
  read_pair(machine, "c2c_ns", row.machine.c2c_ns);
  read_pair(machine, "copy_gbs", row.machine.copy_gbs);
  row.machine.load = number_or_nan(machine, "load");
  row.machine.steal = number_or_nan(machine, "steal");
  machine.finish();

  StrictObject check(object.at("check"), object.where() + ": check");
  row.check_iterations = check.count("iterations");
  row.check_wrong = check.count("wrong");
  row.check_max_ulp = optional_number(check, "max_ulp");
  check.finish();

  const Json& flags = object.at("flags");
  require(flags.is_array(), "{}: flags is not an array", object.where());
  for (const Json& flag : flags) {
    require(flag.is_string(), "{}: flags holds something that is not a string", object.where());
    row.flags.push_back(flag.get<std::string>());
  }
}

}  // namespace

Json to_json(const Row& row) {
  Json json = Json::object();
  json["test"] = row.test;
  json["collective"] = text_or_null(row.collective);
  json["transport"] = row.transport;
  json["library"] = text_or_null(row.library);
  json["device"] = row.device;
  json["ranks"] = row.ranks;
  json["nodes"] = row.nodes;
  json["ppn"] = row.ppn;
  json["algorithm"] = {{"asked", text_or_null(row.algorithm_asked)},
                       {"used", text_or_null(row.algorithm_used)},
                       {"evidence", text_or_null(row.algorithm_evidence)}};
  json["params"] = row.params;
  json["bytes_asked"] = row.bytes_asked;
  json["bytes_per_rank"] = row.bytes_per_rank;
  json["bytes_total"] = row.bytes_total;
  json["bytes_off_node"] = row.bytes_off_node;
  json["count"] = row.count;
  json["dtype"] = text_or_null(row.dtype);
  json["op"] = text_or_null(row.op);
  json["root"] = number_or_null(row.root);
  json["in_place"] = row.in_place;
  json["buffers"] = row.buffers;
  json["time_us"] = time_to_json(row.time);
  json["entry_skew_us"] = number_or_null(row.entry_skew_us);
  json["clock_error_us"] = number_or_null(row.clock_error_us);
  json["straggler"] = straggler_to_json(row.straggler);
  json["first_call_us"] = number_or_null(row.first_call_us);
  json["machine_state"] = {{"c2c_ns", pair_to_json(row.machine.c2c_ns)},
                           {"copy_gbs", pair_to_json(row.machine.copy_gbs)},
                           {"load", finite(row.machine.load)},
                           {"steal", finite(row.machine.steal)}};
  json["algbw_gbs"] = number_or_null(row.algbw_gbs);
  json["busbw_gbs"] = number_or_null(row.busbw_gbs);
  json["check"] = {{"iterations", row.check_iterations},
                   {"wrong", row.check_wrong},
                   {"max_ulp", number_or_null(row.check_max_ulp)}};
  json["flags"] = row.flags;
  json["status"] = row.status;
  json["reason"] = text_or_null(row.reason);
  return json;
}

Row row_from_json(const Json& json, const std::string& where) {
  StrictObject object(json, where);
  Row row;
  row.test = object.string("test");
  row.collective = optional_text(object, "collective");
  row.transport = object.string("transport");
  row.library = optional_text(object, "library");
  row.device = object.string("device");
  row.ranks = positive_int(object, "ranks", 1);
  row.nodes = positive_int(object, "nodes", 1);
  row.ppn = positive_int(object, "ppn", 0);
  row.bytes_asked = object.count("bytes_asked");
  row.bytes_per_rank = object.count("bytes_per_rank");
  row.bytes_total = object.count("bytes_total");
  row.bytes_off_node = object.count("bytes_off_node");
  row.count = object.count("count");
  row.dtype = optional_text(object, "dtype");
  row.op = optional_text(object, "op");
  if (object.at("root").is_null()) {
    row.root = std::nullopt;
  } else {
    row.root = positive_int(object, "root", 0);
  }
  row.in_place = object.boolean("in_place");
  row.buffers = one_of(object, "buffers", {"hot", "cold"});
  row.time = read_time(object);
  row.entry_skew_us = optional_number(object, "entry_skew_us");
  if (const Json* error = object.find("clock_error_us")) {  // earlier versions have none
    row.clock_error_us = optional_number(*error, where, "clock_error_us");
  }
  row.straggler = read_stragglers(object);
  row.first_call_us = optional_number(object, "first_call_us");
  row.algbw_gbs = optional_number(object, "algbw_gbs");
  row.busbw_gbs = optional_number(object, "busbw_gbs");
  row.status = one_of(object, "status", {"ok", "skipped", "failed"});
  row.reason = optional_text(object, "reason");
  read_nested(object, row);
  object.finish();
  return row;
}

}  // namespace commtune
