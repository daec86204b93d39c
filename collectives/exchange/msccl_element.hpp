#pragma once
#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace commtune {

/// Strict access to the attributes of one element: each is read at most once, and finish() refuses
/// those that were not read. Errors are Error(usage) that start with where the element is.
class MscclElement {
 public:
  MscclElement(pugi::xml_node node, std::string where) : node_(node), where_(std::move(where)) {}

  const std::string& where() const noexcept { return where_; }
  std::string_view text(const char* attribute);
  /// `otherwise` when the attribute is absent.
  std::string_view text(const char* attribute, std::string_view otherwise);
  /// A decimal number in [lowest, highest].
  std::int64_t number(const char* attribute, std::int64_t lowest, std::int64_t highest);
  std::int64_t number(const char* attribute, std::int64_t lowest, std::int64_t highest,
                      std::int64_t otherwise);
  bool flag(const char* attribute) { return number(attribute, 0, 1) != 0; }
  bool flag(const char* attribute, bool otherwise) {
    return number(attribute, 0, 1, otherwise ? 1 : 0) != 0;
  }
  /// The elements below, all of them called `tag`.
  std::vector<pugi::xml_node> children(std::string_view tag);
  /// There is no attribute but those that were read.
  void finish() const;
  void require_empty() const;

 private:
  pugi::xml_node node_;
  std::string where_;
  std::vector<std::string> read_;
};

}  // namespace commtune
