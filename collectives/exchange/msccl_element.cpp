#include "collectives/exchange/msccl_element.hpp"

#include <algorithm>
#include <charconv>

namespace commtune {

std::string_view MscclElement::text(const char* attribute) {
  read_.emplace_back(attribute);
  const pugi::xml_attribute found = node_.attribute(attribute);
  require(!found.empty(), "{}: the attribute {} is missing", where_, attribute);
  return found.value();
}

std::string_view MscclElement::text(const char* attribute, std::string_view otherwise) {
  if (!node_.attribute(attribute).empty()) return text(attribute);
  read_.emplace_back(attribute);
  return otherwise;
}

std::int64_t MscclElement::number(const char* attribute, std::int64_t lowest,
                                  std::int64_t highest) {
  const std::string_view digits = text(attribute);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  require(error == std::errc() && end == digits.data() + digits.size(),
          "{}: {}=\"{}\" is not a whole number", where_, attribute, digits);
  require(value >= lowest && value <= highest, "{}: {}=\"{}\" is not between {} and {}", where_,
          attribute, digits, lowest, highest);
  return value;
}

std::int64_t MscclElement::number(const char* attribute, std::int64_t lowest, std::int64_t highest,
                                  std::int64_t otherwise) {
  if (!node_.attribute(attribute).empty()) return number(attribute, lowest, highest);
  read_.emplace_back(attribute);
  return otherwise;
}

std::vector<pugi::xml_node> MscclElement::children(std::string_view tag) {
  std::vector<pugi::xml_node> found;
  for (const pugi::xml_node child : node_.children()) {
    require(child.type() == pugi::node_element && child.name() == tag,
            "{}: expected only <{}> inside, not '{}'", where_, tag,
            child.type() == pugi::node_element ? child.name() : child.value());
    found.push_back(child);
  }
  return found;
}

void MscclElement::require_empty() const {
  require(node_.first_child().empty(), "{}: must be empty", where_);
}

void MscclElement::finish() const {
  std::vector<std::string> seen;
  for (const pugi::xml_attribute attribute : node_.attributes()) {
    const std::string key = attribute.name();
    require(std::find(read_.begin(), read_.end(), key) != read_.end(),
            "{}: unknown attribute {}=\"{}\"", where_, key, attribute.value());
    require(std::find(seen.begin(), seen.end(), key) == seen.end(),
            "{}: the attribute {} is given twice", where_, key);
    seen.push_back(key);
  }
}

}  // namespace commtune
