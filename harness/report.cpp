#include "harness/report.hpp"

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "harness/document.hpp"
#include "harness/report_format.hpp"

namespace commtune {
namespace {

class JsonReport final : public Report {
 public:
  explicit JsonReport(std::ostream& out) : out_(out) {}
  void begin(const Json& run) override { document_ = new_document(run); }
  void add(const Row& row) override { document_["rows"].push_back(to_json(row)); }
  void update_run(const Json& members) override { document_["run"].update(members); }
  void end(std::string_view status, std::string_view reason) override {
    set_status(document_, status, reason);
    out_ << document_.dump(2) << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
  Json document_ = new_document(Json::object());
};

}  // namespace

bool measures_bandwidth(const Row& row) {
  return row.test.find("bandwidth") != std::string::npos || row.test.ends_with("_bw");
}

std::string check_text(const Row& row) {
  if (row.check_iterations == 0) return "-";
  return row.check_wrong == 0 ? "ok" : fmt::format("{} wrong", row.check_wrong);
}

std::string shown_algorithm(const Row& row) {
  const bool observed = !row.algorithm_used.empty() && row.algorithm_used != "unknown";
  if (row.algorithm_asked.find(':') != std::string::npos) return row.algorithm_asked;
  const bool beside = !row.library.empty() && row.algorithm_asked.rfind(row.library, 0) == 0;
  if (observed && beside) return row.library + "/" + row.algorithm_used;
  return observed ? row.algorithm_used : row.algorithm_asked;
}

std::string comment_line(const Row& row) {
  const std::string algorithm = shown_algorithm(row);
  const bool names_library = row.status == "failed" && !row.library.empty();
  return fmt::format("# {} {}{}{} {}{}{}: {}\n", row.status, row.test, algorithm.empty() ? "" : "/",
                     algorithm,
                     format_size(row.bytes_per_rank != 0 ? row.bytes_per_rank : row.bytes_asked),
                     names_library ? ", library " : "", names_library ? row.library : "",
                     row.reason.empty() ? "no reason given" : row.reason);
}

std::unique_ptr<Report> make_json_report(std::ostream& out) {
  return std::make_unique<JsonReport>(out);
}

std::unique_ptr<Report> make_report(std::string_view format, std::ostream& out) {
  if (format == "table") return make_table_report(out);
  if (format == "osu") return make_osu_report(out);
  if (format == "csv") return make_csv_report(out);
  if (format == "json") return make_json_report(out);
  fail(Errc::usage, "--format: \"{}\" is not one of table, osu, csv, json", format);
}

}  // namespace commtune
