#include <fmt/format.h>
#include <tuple>

#include "harness/report_format.hpp"

namespace commtune {
namespace {

/// Columns of OSU Micro-Benchmarks 7: size left-justified in 10, values right-justified in 18 with
/// two decimals, MB/s of 10^6 bytes. Further facts of a row live in the result file.
class OsuReport final : public Report {
 public:
  explicit OsuReport(std::ostream& out) : out_(out) {}
  void begin(const Json& /*run*/) override {}
  void add(const Row& row) override {
    const bool bandwidth = measures_bandwidth(row);
    if (row.status != "ok" || !row.time || (bandwidth && !row.algbw_gbs)) {
      out_ << comment_line(row) << std::flush;
      return;
    }
    const bool sized = row.test != "barrier";
    const Group group{row.test, row.algorithm_used, row.dtype, row.in_place};
    if (group != group_) {
      group_ = group;
      print_header(row, bandwidth, sized);
    }
    const double value = bandwidth ? *row.algbw_gbs * 1e3 : row.time->mean;
    out_ << (sized ? fmt::format("{:<10}{:>18.2f}\n", row.bytes_per_rank, value)
                   : fmt::format("{:>17.2f}\n", value));
    if (row.check_wrong != 0) out_ << "# validation: " << check_text(row) << '\n';
    out_ << std::flush;
  }
  void end(std::string_view status, std::string_view reason) override {
    if (status != "ok") out_ << "# " << status << ": " << reason << '\n';
    out_ << std::flush;
  }

 private:
  using Group = std::tuple<std::string, std::string, std::string, bool>;

  void print_header(const Row& row, bool bandwidth, bool sized) {
    const bool collective = !row.collective.empty();
    out_ << fmt::format("\n# commtune {}{} test, OSU 7 format\n", row.test,
                        collective ? " latency" : "");
    out_ << fmt::format("# Transport: {}, library: {}, algorithm: {}, ranks: {}{}\n", row.transport,
                        row.library.empty() ? "none" : row.library,
                        row.algorithm_used.empty() ? "none" : shown_algorithm(row), row.ranks,
                        row.in_place ? ", in place" : "");
    if (!sized) {
      out_ << "# Avg Latency(us)\n";
      return;
    }
    if (!row.dtype.empty()) out_ << fmt::format("# Datatype: {}.\n", row.dtype);
    out_ << fmt::format("{:<10}{:>18}\n", "# Size",
                        bandwidth ? "Bandwidth (MB/s)" : "Avg Latency(us)");
  }

  std::ostream& out_;
  Group group_;
};

}  // namespace

std::unique_ptr<Report> make_osu_report(std::ostream& out) {
  return std::make_unique<OsuReport>(out);
}

}  // namespace commtune
