#include "dnn_proxy/importers/kineto_record.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "dnn_proxy/workload.hpp"

namespace commtune {
namespace {

const Json* find(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::optional<std::uint64_t> optional_integer(const Json& args, const char* key,
                                              const std::string& where) {
  const Json* value = find(args, key);
  if (value == nullptr) return std::nullopt;
  // Producers write -1 for "does not apply".
  if (value->is_number_integer() && !value->is_number_unsigned()) return std::nullopt;
  return integer_of(*value, fmt::format("{} \"{}\"", where, key));
}

std::optional<std::uint64_t> optional_elements(const Json& args, const char* key,
                                               const std::string& where) {
  const Json* value = find(args, key);
  if (value == nullptr) return std::nullopt;
  require(!value->is_number() || value->get<double>() >= 0,
          "{} \"{}\": {} is negative, an element count cannot be", where, key, value->dump());
  const std::uint64_t elements = integer_of(*value, fmt::format("{} \"{}\"", where, key));
  require(elements <= max_elements, "{} \"{}\": {} elements are more than {}", where, key, elements,
          max_elements);
  return elements;
}

Rank checked_rank(std::uint64_t value, const std::string& where) {
  require(value <= 1'048'576, "{}: {} is not a rank", where, value);
  return static_cast<Rank>(value);
}

std::optional<bool> optional_boolean(const Json& args, const char* key, const std::string& where) {
  const Json* value = find(args, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_string()) {
    const auto text = value->get<std::string>();
    if (text == "true" || text == "True") return true;
    if (text == "false" || text == "False") return false;
  }
  return integer_of(*value, fmt::format("{} \"{}\"", where, key)) != 0;
}

std::vector<Rank> ranks_from(const Json& args, std::uint64_t size, const std::string& where) {
  std::vector<Rank> ranks;
  if (const Json* list = find(args, "Process Group Ranks")) {
    for (const std::uint64_t rank : integers_of(*list, size, where + " \"Process Group Ranks\""))
      ranks.push_back(checked_rank(rank, where + " \"Process Group Ranks\""));
    if (!ranks.empty()) return ranks;
  }
  const auto start = optional_integer(args, "Global rank start", where);
  const auto stride = optional_integer(args, "Global rank stride", where);
  if (start && stride && size <= 1'048'576)
    for (std::uint64_t i = 0; i < size; ++i)
      ranks.push_back(checked_rank(
          checked_sum(*start, checked_product(i, *stride, where + " \"Global rank stride\""),
                      where + " \"Global rank start\""),
          where + " \"Global rank start\""));
  return ranks;
}

}  // namespace

Rank rank_of(const Json& value, const std::string& where) {
  return checked_rank(integer_of(value, where), where);
}

std::uint64_t integer_of(const Json& value, const std::string& where) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number >= 0 && number <= 0x1p53 && std::floor(number) == number)
      return static_cast<std::uint64_t>(number);
  }
  if (value.is_string()) return parse_count(value.get<std::string>(), where);
  fail(Errc::usage, "{}: {} is not a non-negative integer", where, value.dump());
}

std::vector<std::uint64_t> integers_of(const Json& value, std::uint64_t size,
                                       const std::string& where) {
  std::vector<std::uint64_t> integers;
  if (value.is_array()) {
    for (const Json& entry : value) integers.push_back(integer_of(entry, where));
    return integers;
  }
  require(value.is_string(), "{}: {} is not a list", where, value.dump());
  const auto text = value.get<std::string>();
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits.push_back(c);
      continue;
    }
    require(c == '[' || c == ']' || c == ',' || c == ' ' || c == '.', "{}: \"{}\" is not a list",
            where, text);
    if (!digits.empty()) integers.push_back(parse_count(digits, where));
    digits.clear();
  }
  if (!digits.empty()) integers.push_back(parse_count(digits, where));
  if (text.find("...") == std::string::npos) return integers;
  require(integers.size() >= 2 && integers[1] > integers[0] && size > 0 && size <= 1'048'576,
          "{}: \"{}\" is cut off and cannot be rebuilt", where, text);
  const std::uint64_t first = integers[0], stride = integers[1] - integers[0];
  integers.clear();
  for (std::uint64_t i = 0; i < size; ++i)
    integers.push_back(checked_sum(first, checked_product(i, stride, where), where));
  return integers;
}

RecordArguments read_new_style(const Json& args, const std::string& where) {
  RecordArguments record;
  if (const Json* name = find(args, "Collective name"); name != nullptr && name->is_string())
    record.name = name->get<std::string>();
  if (const Json* dtype = find(args, "dtype"); dtype != nullptr && dtype->is_string())
    record.dtype = dtype->get<std::string>();
  record.in_count = optional_elements(args, "In msg nelems", where);
  record.out_count = optional_elements(args, "Out msg nelems", where);
  record.group_size = optional_integer(args, "Group size", where);
  if (const Json* group = find(args, "Process Group Name"))
    record.group = group->is_string() ? group->get<std::string>() : group->dump();
  else if (const Json* id = find(args, "Process Group ID"))
    record.group = id->is_string() ? id->get<std::string>() : id->dump();
  record.group_ranks = ranks_from(args, record.group_size.value_or(0), where);
  record.async = optional_boolean(args, "Is asynchronized op", where);
  if (const Json* splits = find(args, "In split size"))
    record.send_splits = integers_of(*splits, 0, where + " \"In split size\"");
  if (const Json* splits = find(args, "Out split size"))
    record.recv_splits = integers_of(*splits, 0, where + " \"Out split size\"");
  const auto parsed = parse_record_name(record.name);
  if (parsed && point_to_point(parsed->kind) && parsed->record == RecordKind::transfer) {
    const char* key = parsed->kind == CommKind::send ? "Dst Rank" : "Src Rank";
    if (const auto peer = optional_integer(args, key, where))
      record.peer = checked_rank(*peer, fmt::format("{} \"{}\"", where, key));
  }
  return record;
}

RecordArguments read_annotation(const ChromeEvent& event, const std::string& where) {
  RecordArguments record;
  record.name = event.name;
  const Json* dims = find(event.args, "Input Dims");
  const Json* types = find(event.args, "Input type");
  if (dims == nullptr || types == nullptr || !dims->is_array() || !types->is_array()) return record;
  std::uint64_t total = 0;
  bool sized = false;
  for (std::size_t i = 0; i < dims->size() && i < types->size(); ++i) {
    const Json& shape = (*dims)[i];
    const Json& type = (*types)[i];
    if (!type.is_string() || !shape.is_array()) continue;
    const auto text = type.get<std::string>();
    if (!parse_element_type(text)) {
      if (record.dtype.empty() && !text.empty() && text != "TensorList" && text != "Scalar")
        record.dtype = text;
      continue;
    }
    std::uint64_t elements = 1;
    const std::string dims_of = where + " \"Input Dims\"";
    for (const Json& extent : shape)
      elements = checked_product(elements, integer_of(extent, dims_of), dims_of);
    require(!sized || record.dtype == text, "{}: tensors of {} and {} in one operation", where,
            record.dtype, text);
    record.dtype = text;
    total = checked_sum(total, elements, dims_of);
    require(total <= max_elements, "{}: {} elements are more than {}", dims_of, total,
            max_elements);
    sized = true;
  }
  if (sized) record.in_count = total;
  return record;
}

}  // namespace commtune
