#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/json.hpp"

namespace commtune {

/// One event of a Chrome trace. Times are nanoseconds, parsed from the decimal text: a double of
/// epoch microseconds would resolve a quarter microsecond only.
struct ChromeEvent {
  std::string phase, category, name;
  std::string thread;  ///< tid as text; numbers and strings occur
  std::int64_t begin_ns = 0, duration_ns = 0;
  bool timed = false;          ///< has "ts"
  Json args = Json::object();  ///< "args"; null when absent
  std::uint64_t index = 0;     ///< position in the event array
};

/// What surrounds the events.
struct ChromeHeader {
  Json distributed = Json::object();  ///< "distributedInfo", also when it was a JSON text
  bool bare_array = false;            ///< the file is an array of events without an object around
};

/// Streams the events of `path` (plain or gzip) to `visit` in file order, holding one event at a
/// time. Accepts an object with "traceEvents" or a bare array. Throws Error(usage) with the byte
/// offset on damaged JSON (in the decompressed text) or gzip data (in the file).
ChromeHeader read_chrome_trace(const std::filesystem::path& path,
                               const std::function<void(const ChromeEvent&)>& visit);

/// "12.345" microseconds -> 12345; throws Error(usage) starting with `where` unless a decimal
/// number in range.
std::int64_t microseconds_to_ns(std::string_view text, std::string_view where);

}  // namespace commtune
