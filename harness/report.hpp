#pragma once
#include <memory>
#include <ostream>
#include <string>

#include "harness/record.hpp"

namespace commtune {

/// Rows as they finish, on stdout. `table` for people, `osu` as OSU Micro-Benchmarks 7 prints
/// (header, "# Size  Avg Latency(us)"), `csv` with a header line, `json` the whole document at the
/// end.
class Report {
 public:
  virtual ~Report() = default;
  virtual void begin(const Json& run) = 0;
  virtual void add(const Row&) = 0;
  /// Sets members of `run` that are known only later; forms that do not show them ignore it.
  virtual void update_run(const Json& /*members*/) {}
  virtual void end(std::string_view status, std::string_view reason) = 0;
};
/// Throws Error(usage) listing the formats.
std::unique_ptr<Report> make_report(std::string_view format, std::ostream&);

}  // namespace commtune
