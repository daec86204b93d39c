#pragma once
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace commtune {

/// Objects keep the order in which keys were added, so records read as interface documents do.
using Json = nlohmann::ordered_json;

/// Parses one JSON text. Throws Error(usage) "<source>: byte N: <reason>" on bad syntax, on a
/// duplicate key and on trailing text.
Json parse_json(std::string_view text, std::string_view source);

/// Reads a whole file (plain); errors name the path.
Json read_json(const std::filesystem::path&);

/// Writes `value` to a temporary file beside `path` and renames it, so a reader never sees half a
/// document. NaN and infinities must have been turned into null before (see finite()).
void write_json_atomically(const std::filesystem::path&, const Json& value);
/// The same for any text. Devices and FIFOs are written through, symbolic links followed.
void write_text_atomically(const std::filesystem::path&, std::string_view text);

/// Throws Error(usage) unless `path` can be created or replaced; leaves no trace.
void require_writable(const std::filesystem::path& path, std::string_view option);

/// null for NaN and infinities.
Json finite(double value);

/// Strict access to one object: every key must be asked for, unknown and missing keys are errors
/// that name `where` and the key.
class StrictObject {
 public:
  StrictObject(const Json& object, std::string where);
  const Json& at(std::string_view key);       ///< throws when missing
  const Json* find(std::string_view key);     ///< nullptr when missing
  std::string string(std::string_view key);   ///< throws unless a string
  double number(std::string_view key);        ///< throws unless a number
  std::uint64_t count(std::string_view key);  ///< throws unless a non-negative integer
  bool boolean(std::string_view key);
  /// Throws naming the keys that were never asked for, except those in `ignored`.
  void finish(std::initializer_list<std::string_view> ignored = {}) const;
  const std::string& where() const noexcept { return where_; }

 private:
  const Json& object_;
  std::string where_;
  std::vector<std::string> seen_;
};

}  // namespace commtune
