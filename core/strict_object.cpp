#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"

namespace commtune {
namespace {

[[noreturn]] void wrong_type(const std::string& where, std::string_view key,
                             std::string_view wanted, const Json& got) {
  fail(Errc::usage, "{}: \"{}\" must be {}, not {}", where, key, wanted,
       got.is_primitive() ? got.dump(-1, ' ', false, Json::error_handler_t::replace)
                          : std::string(got.type_name()));
}

}  // namespace

StrictObject::StrictObject(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  require(object.is_object(), "{}: must be an object, not {}", where_, object.type_name());
}

const Json& StrictObject::at(std::string_view key) {
  const Json* value = find(key);
  require(value != nullptr, "{}: missing key \"{}\"", where_, key);
  return *value;
}

const Json* StrictObject::find(std::string_view key) {
  seen_.emplace_back(key);
  const auto found = object_.find(seen_.back());
  return found == object_.end() ? nullptr : &*found;
}

std::string StrictObject::string(std::string_view key) {
  const Json& value = at(key);
  if (!value.is_string()) wrong_type(where_, key, "a string", value);
  return value.get<std::string>();
}

double StrictObject::number(std::string_view key) {
  const Json& value = at(key);
  if (!value.is_number()) wrong_type(where_, key, "a number", value);
  return value.get<double>();
}

std::uint64_t StrictObject::count(std::string_view key) {
  const Json& value = at(key);
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
    wrong_type(where_, key, "a non-negative integer", value);
  return value.get<std::uint64_t>();
}

bool StrictObject::boolean(std::string_view key) {
  const Json& value = at(key);
  if (!value.is_boolean()) wrong_type(where_, key, "true or false", value);
  return value.get<bool>();
}

void StrictObject::finish(std::initializer_list<std::string_view> ignored) const {
  const auto holds = [](const auto& names, const std::string& key) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  std::string unknown;
  for (const auto& item : object_.items()) {
    if (holds(seen_, item.key()) || holds(ignored, item.key())) continue;
    unknown += fmt::format("{}\"{}\"", unknown.empty() ? "" : ", ", item.key());
  }
  require(unknown.empty(), "{}: unknown key {}", where_, unknown);
}

}  // namespace commtune
