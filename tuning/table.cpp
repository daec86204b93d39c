#include "tuning/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "core/error.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

constexpr std::uint64_t most_ranks = 1U << 20;
/// Libraries read signed 64-bit sizes of all ranks together, and parameters as int.
constexpr std::uint64_t most_bytes = 1ULL << 42;
constexpr std::uint64_t most_param = std::numeric_limits<std::int32_t>::max();

Json number_or_null(const std::optional<double>& value) {
  return value ? finite(*value) : Json(nullptr);
}

std::optional<double> optional_number(StrictObject& object, std::string_view key) {
  const Json& value = object.at(key);
  if (value.is_null()) return std::nullopt;
  return object.number(key);
}

int small_count(StrictObject& object, std::string_view key) {
  const std::uint64_t value = object.count(key);
  require(value >= 1 && value <= most_ranks, "{}: {} is {}, expected 1 to {}", object.where(), key,
          value, most_ranks);
  return static_cast<int>(value);
}

const Json& array_at(StrictObject& object, std::string_view key) {
  const Json& value = object.at(key);
  require(value.is_array(), "{}: {} must be an array", object.where(), key);
  return value;
}

const Json& object_at(StrictObject& object, std::string_view key) {
  const Json& value = object.at(key);
  require(value.is_object(), "{}: {} must be an object", object.where(), key);
  return value;
}

void check_times(const TableRule& rule, const std::string& where) {
  for (const auto& [key, value] : {std::pair{"median_us", rule.median_us},
                                   {"ci_low", rule.ci_low},
                                   {"ci_high", rule.ci_high},
                                   {"default_us", rule.default_us}}) {
    require(!value || *value >= 0, "{}: {} is {}, a time is not negative", where, key,
            value.value_or(0));
  }
  const bool complete = rule.median_us && rule.ci_low && rule.ci_high;
  require(!complete || (*rule.ci_low <= *rule.median_us && *rule.median_us <= *rule.ci_high),
          "{}: median_us {} lies outside its interval {} to {}", where, rule.median_us.value_or(0),
          rule.ci_low.value_or(0), rule.ci_high.value_or(0));
  require(!rule.gain || *rule.gain <= 1,
          "{}: gain is {}, a share of the default's time is at most 1", where,
          rule.gain.value_or(0));
}

TableRule rule_from_json(const Json& json, const std::string& where) {
  StrictObject object(json, where);
  TableRule rule;
  rule.from_bytes = object.count("from_bytes");
  require(rule.from_bytes <= most_bytes, "{}: from_bytes is {}, expected 0 to {}", where,
          rule.from_bytes, most_bytes);
  rule.algorithm = object.string("algorithm");
  require(!rule.algorithm.empty(), "{}: algorithm is empty; write \"default\"", where);
  rule.params = object_at(object, "params");
  for (const auto& [key, value] : rule.params.items()) {
    require(value.is_number_integer() && value >= 0 && value <= most_param,
            "{}: params.{} must be an integer from 0 to {}", where, key, most_param);
  }
  rule.median_us = optional_number(object, "median_us");
  rule.ci_low = optional_number(object, "ci_low");
  rule.ci_high = optional_number(object, "ci_high");
  rule.default_us = optional_number(object, "default_us");
  rule.gain = optional_number(object, "gain");
  rule.evidence = object.string("evidence");
  object.finish();
  check_times(rule, where);
  return rule;
}

TableEntry entry_from_json(const Json& json, const std::string& where) {
  StrictObject object(json, where);
  TableEntry entry;
  entry.collective = parse_collective(object.string("collective"), where + ": collective");
  entry.ranks = small_count(object, "ranks");
  entry.nodes = small_count(object, "nodes");
  entry.ppn = small_count(object, "ppn");
  entry.dtype_class = object.string("dtype_class");
  entry.library = object.string("library");
  const Json& rules = array_at(object, "rules");
  object.finish();
  require(static_cast<std::int64_t>(entry.nodes) * entry.ppn >= entry.ranks,
          "{}: {} nodes of {} ranks cannot hold {} ranks", where, entry.nodes, entry.ppn,
          entry.ranks);
  require(!rules.empty(), "{}: rules is empty; every entry needs a rule from 0 bytes on", where);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string rule_where = fmt::format("{}.rules[{}]", where, i);
    entry.rules.push_back(rule_from_json(rules[i], rule_where));
    const std::uint64_t from = entry.rules[i].from_bytes;
    require(i > 0 || from == 0, "{}: from_bytes is {}, the first rule must start at 0", rule_where,
            from);
    require(i == 0 || from > entry.rules[i - 1].from_bytes,
            "{}: from_bytes is {} after {}, rules must ascend", rule_where, from,
            i == 0 ? 0 : entry.rules[i - 1].from_bytes);
  }
  return entry;
}

bool same_key(const TableEntry& a, const TableEntry& b) {
  return a.collective == b.collective && a.ranks == b.ranks && a.nodes == b.nodes &&
         a.ppn == b.ppn && a.dtype_class == b.dtype_class && a.library == b.library;
}

void read_measured(const Json& json, const std::string& where, DecisionTable& table) {
  StrictObject object(json, where);
  const Json& bytes = array_at(object, "bytes");
  const Json& ranks = array_at(object, "ranks");
  object.finish();
  require(bytes.size() == 2 && bytes[0].is_number_unsigned() && bytes[1].is_number_unsigned(),
          "{}: bytes must be [lowest, highest]", where);
  table.measured_low = bytes[0].get<std::uint64_t>();
  table.measured_high = bytes[1].get<std::uint64_t>();
  require(table.measured_low <= table.measured_high, "{}: bytes is [{}, {}], lowest first", where,
          table.measured_low, table.measured_high);
  for (const Json& value : ranks) {
    require(value.is_number_integer() && value >= 1 && value <= most_ranks,
            "{}: ranks must be numbers from 1 to {}", where, most_ranks);
    const int rank_count = value.get<int>();
    require(table.measured_ranks.empty() || rank_count > table.measured_ranks.back(),
            "{}: ranks must ascend, {} does not", where, rank_count);
    table.measured_ranks.push_back(rank_count);
  }
}

std::string format_time(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

}  // namespace

Json to_json(const DecisionTable& table) {
  Json json;
  json["schema"] = "commtune.table/1";
  json["run"] = table.run;
  json["entries"] = Json::array();
  for (const TableEntry& entry : table.entries) {
    Json rules = Json::array();
    for (const TableRule& rule : entry.rules) {
      rules.push_back({{"from_bytes", rule.from_bytes},
                       {"algorithm", rule.algorithm},
                       {"params", rule.params},
                       {"median_us", number_or_null(rule.median_us)},
                       {"ci_low", number_or_null(rule.ci_low)},
                       {"ci_high", number_or_null(rule.ci_high)},
                       {"default_us", number_or_null(rule.default_us)},
                       {"gain", number_or_null(rule.gain)},
                       {"evidence", rule.evidence}});
    }
    json["entries"].push_back({{"collective", name(entry.collective)},
                               {"ranks", entry.ranks},
                               {"nodes", entry.nodes},
                               {"ppn", entry.ppn},
                               {"dtype_class", entry.dtype_class},
                               {"library", entry.library},
                               {"rules", std::move(rules)}});
  }
  json["measured"]["bytes"] = {table.measured_low, table.measured_high};
  json["measured"]["ranks"] = table.measured_ranks;
  json["budget"]["points"] = table.points;
  json["budget"]["full_grid"] = table.full_grid;
  json["budget"]["seconds"] = finite(table.seconds);
  json["warnings"] = table.warnings;
  return json;
}

DecisionTable table_from_json(const Json& json, const std::string& where) {
  StrictObject object(json, where);
  const std::string schema = object.string("schema");
  require(schema == "commtune.table/1", "{}: schema is \"{}\", expected \"commtune.table/1\"",
          where, schema);
  DecisionTable table;
  table.run = object_at(object, "run");
  const Json& entries = array_at(object, "entries");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string entry_where = fmt::format("{}: entries[{}]", where, i);
    TableEntry entry = entry_from_json(entries[i], entry_where);
    require(std::none_of(table.entries.begin(), table.entries.end(),
                         [&](const TableEntry& other) { return same_key(entry, other); }),
            "{}: a second entry for {} on {} ranks ({} nodes of {}, {}, {})", entry_where,
            name(entry.collective), entry.ranks, entry.nodes, entry.ppn, entry.dtype_class,
            entry.library);
    table.entries.push_back(std::move(entry));
  }
  read_measured(object.at("measured"), where + ": measured", table);
  StrictObject budget(object.at("budget"), where + ": budget");
  table.points = budget.count("points");
  table.full_grid = budget.count("full_grid");
  table.seconds = budget.number("seconds");
  budget.finish();
  const Json& warnings = array_at(object, "warnings");
  for (const Json& warning : warnings) {
    require(warning.is_string(), "{}: warnings must be strings", where);
    table.warnings.push_back(warning.get<std::string>());
  }
  object.finish();
  return table;
}

DecisionTable read_table(const std::filesystem::path& path) {
  return table_from_json(read_json(path), path.string());
}

const TableRule& rule_for(const std::vector<TableRule>& rules, std::uint64_t bytes) {
  const auto after = std::upper_bound(
      rules.begin(), rules.end(), bytes,
      [](std::uint64_t value, const TableRule& rule) { return value < rule.from_bytes; });
  return after == rules.begin() ? rules.front() : *std::prev(after);
}

std::string describe_params(const Json& params) {
  std::string text;
  for (const auto& [key, value] : params.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key,
                        format_size(value.get<std::uint64_t>()));
  }
  return text;
}

std::string show(const DecisionTable& table) {
  std::string text;
  for (const TableEntry& entry : table.entries) {
    text += fmt::format("{}, {} ranks ({} x {} per node), {}, {}\n", name(entry.collective),
                        entry.ranks, entry.nodes, entry.ppn, entry.dtype_class, entry.library);
    text += fmt::format("  {:>8}  {:<28} {:>11} {:>11} {:>7}  {}\n", "from", "algorithm", "us",
                        "default us", "gain", "evidence");
    for (const TableRule& rule : entry.rules) {
      const std::string params = describe_params(rule.params);
      text +=
          fmt::format("  {:>8}  {:<28} {:>11} {:>11} {:>7}  {}\n", format_size(rule.from_bytes),
                      params.empty() ? rule.algorithm : rule.algorithm + " " + params,
                      format_time(rule.median_us), format_time(rule.default_us),
                      rule.gain ? fmt::format("{:.1f} %", *rule.gain * 100) : "-", rule.evidence);
    }
  }
  if (table.entries.empty()) text += "no entries\n";
  text += fmt::format("measured from {} to {} bytes per rank, {} of {} points, {:.0f} s\n",
                      format_size(table.measured_low), format_size(table.measured_high),
                      table.points, table.full_grid, table.seconds);
  for (const std::string& warning : table.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace commtune
