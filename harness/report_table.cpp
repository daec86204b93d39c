#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "core/sizes.hpp"
#include "harness/report_format.hpp"

namespace commtune {
namespace {

/// Three or more significant digits at any magnitude, never an exponent below a million.
std::string figure(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string figure(const std::optional<double>& value) { return value ? figure(*value) : "n/a"; }

/// A string found by walking `keys`, else `otherwise`.
std::string text_at(const Json& json, std::initializer_list<const char*> keys,
                    std::string_view otherwise) {
  const Json* value = &json;
  for (const char* key : keys) {
    if (!value->is_object() || !value->contains(key)) return std::string(otherwise);
    value = &(*value)[key];
  }
  return value->is_string() ? value->get<std::string>() : std::string(otherwise);
}

std::string joined(const Json& run, const char* key) {
  std::string text;
  if (!run.is_object() || !run.contains(key) || !run[key].is_array()) return text;
  for (const Json& entry : run[key]) {
    if (!entry.is_string()) continue;
    text += text.empty() ? "" : ", ";
    text += entry.get<std::string>();
  }
  return text;
}

class TableReport final : public Report {
 public:
  explicit TableReport(std::ostream& out) : out_(out) {}
  void begin(const Json& run) override {
    const std::string library = text_at(run, {"library", "name"}, "");
    const std::size_t ranks =
        run.contains("ranks") && run["ranks"].is_array() ? run["ranks"].size() : std::size_t{0};
    out_ << fmt::format(
        "# commtune {}, transport {}, library {}, {} ranks, host {}\n",
        text_at(run, {"build", "version"}, "?"), text_at(run, {"transport", "name"}, "?"),
        library.empty() ? "none" : library + " " + text_at(run, {"library", "version"}, "?"), ranks,
        joined(run, "hosts"));
    if (run.contains("warnings") && run["warnings"].is_array()) {
      for (const Json& warning : run["warnings"]) {
        if (warning.is_string()) out_ << "# warning: " << warning.get<std::string>() << '\n';
      }
    }
    out_ << "# busbw is algbw times a factor of the collective, not the rate of a link\n";
    out_ << std::flush;
  }
  void add(const Row& row) override {
    const Group group{row.test,    row.dtype, row.op,       row.in_place,
                      row.buffers, row.root,  row.nodes > 1};
    if (group != group_) {
      group_ = group;
      print_header(row);
    }
    if (row.status != "ok" || !row.time) out_ << comment_line(row);
    if (row.time) print_row(row);
    print_straggler(row);
    out_ << std::flush;
  }
  void end(std::string_view status, std::string_view reason) override {
    if (status != "ok") out_ << "# " << status << ": " << reason << '\n';
    out_ << std::flush;
  }

 private:
  using Group = std::tuple<std::string, std::string, std::string, bool, std::string,
                           std::optional<int>, bool>;
  static constexpr const char* layout =
      "{:>8}  {:<22} {:>10} {:>21} {:>10} {:>10} {:>8} {:>8}{}  {:<9} {}";

  void print_header(const Row& row) {
    std::string title = "\n# " + row.test;
    if (!row.dtype.empty()) title += ", " + row.dtype;
    if (!row.op.empty()) title += ", " + row.op;
    if (row.root) title += fmt::format(", root {}", *row.root);
    title += row.in_place ? ", in place, " : ", ";
    out_ << title << row.buffers << " buffers; times in us, bandwidths in GB/s (10^9)\n";
    print_line("size", "algorithm", "median", "interval", "p99", "max", "algbw", "busbw",
               row.nodes > 1 ? fmt::format(" {:>10}", "off-node") : "", "check", "flags");
  }
  /// A column of its own only where there is more than one node.
  static std::string off_node_text(const Row& row) {
    if (row.nodes <= 1) return {};
    const bool unknown =
        std::find(row.flags.begin(), row.flags.end(), "off_node_unknown") != row.flags.end();
    return fmt::format(" {:>10}", unknown ? "n/a" : format_size(row.bytes_off_node));
  }
  void print_row(const Row& row) {
    const TimeSummary& time = *row.time;
    std::string algorithm = row.algorithm_used.empty() ? "-" : shown_algorithm(row);
    if (text_at(row.params, {"buffers"}, "") == "private") algorithm += ", private";
    print_line(format_size(row.bytes_per_rank), algorithm, figure(time.median),
               fmt::format("[{}, {}]", figure(time.ci_low), figure(time.ci_high)), figure(time.p99),
               figure(time.max), figure(row.algbw_gbs), figure(row.busbw_gbs), off_node_text(row),
               check_text(row), fmt::format("{}", fmt::join(row.flags, " ")));
  }
  /// Names a rank only where late entry outweighs the operation and is mostly one rank's.
  void print_straggler(const Row& row) {
    const bool skewed =
        std::find(row.flags.begin(), row.flags.end(), "entry_skew") != row.flags.end();
    if (!skewed || !row.straggler || row.straggler->last_in.share <= 0.5) return;
    const Straggler& late = row.straggler->last_in;
    out_ << fmt::format("# rank {} on {} entered last in {:.0f} % of the iterations, skew {} us\n",
                        late.rank, late.host, late.share * 100, figure(row.entry_skew_us));
  }
  template <class... Fields>
  void print_line(const Fields&... fields) {
    std::string line = fmt::format(fmt::runtime(layout), fields...);
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }

  std::ostream& out_;
  Group group_;
};

}  // namespace

std::unique_ptr<Report> make_table_report(std::ostream& out) {
  return std::make_unique<TableReport>(out);
}

}  // namespace commtune
