#pragma once
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "harness/report.hpp"

namespace commtune {

std::unique_ptr<Report> make_table_report(std::ostream&);
std::unique_ptr<Report> make_osu_report(std::ostream&);
std::unique_ptr<Report> make_csv_report(std::ostream&);
std::unique_ptr<Report> make_json_report(std::ostream&);

/// True when the row's headline is a bandwidth, not a time.
bool measures_bandwidth(const Row&);
/// "ok", "3 wrong" or "-" when nothing was checked.
std::string check_text(const Row&);
/// With its parameters where they were asked for, and with the library that runs beside ours:
/// "ring:segments=4", "gloo/ring". A library's algorithm that nobody observed is shown as what was
/// asked for, "native"; "" when the row has none.
std::string shown_algorithm(const Row&);
/// "# skipped allreduce/ring 64K: needs 2 ranks"; the size is the one asked for when it holds no
/// whole element, and failed rows name their library.
std::string comment_line(const Row&);

}  // namespace commtune
