#include <fmt/format.h>

#include "harness/document.hpp"
#include "harness/report_format.hpp"

namespace commtune {
namespace {

constexpr std::string_view header =
    "schema,test,transport,library,device,collective,algorithm_asked,algorithm_used,params,ranks,"
    "nodes,ppn,bytes_per_rank,bytes_total,bytes_off_node,count,dtype,op,root,in_place,buffers,"
    "samples,median_us,ci_low_us,ci_high_us,mean_us,min_us,p50_us,p90_us,p95_us,p99_us,max_us,"
    "entry_skew_us,first_call_us,algbw_gbs,busbw_gbs,check_iterations,check_wrong,check_max_ulp,"
    "c2c_before_ns,c2c_after_ns,load,steal,flags,status,reason,bytes_asked,evidence,copy_before_"
    "gbs,"
    "copy_after_gbs,clock_error_us,last_in_rank,last_in_host,last_in_share,last_out_rank,"
    "last_out_host,last_out_share\n";

/// Quotes a field as RFC 4180 does when it holds a separator.
std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

/// A leaf of the JSON record; null is an empty field.
std::string field_of(const Json& value) {
  if (value.is_null()) return {};
  return csv_quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

class CsvReport final : public Report {
 public:
  explicit CsvReport(std::ostream& out) : out_(out) {}
  void begin(const Json& /*run*/) override { out_ << header << std::flush; }
  void add(const Row& row) override {
    const Json json = to_json(row);
    line_ = result_schema;
    for (const char* key : {"test", "transport", "library", "device", "collective"}) {
      append(json[key]);
    }
    append(json["algorithm"]["asked"]);
    append(json["algorithm"]["used"]);
    for (const char* key :
         {"params", "ranks", "nodes", "ppn", "bytes_per_rank", "bytes_total", "bytes_off_node",
          "count", "dtype", "op", "root", "in_place", "buffers"}) {
      append(json[key]);
    }
    for (const char* key : {"samples", "median", "ci_low", "ci_high", "mean", "min", "p50", "p90",
                            "p95", "p99", "max"}) {
      append(row.time ? json["time_us"][key] : Json());
    }
    for (const char* key : {"entry_skew_us", "first_call_us", "algbw_gbs", "busbw_gbs"}) {
      append(json[key]);
    }
    for (const char* key : {"iterations", "wrong", "max_ulp"}) append(json["check"][key]);
    const Json& machine = json["machine_state"];
    append(machine["c2c_ns"][0]);
    append(machine["c2c_ns"][1]);
    append(machine["load"]);
    append(machine["steal"]);
    append(fmt::format("{}", fmt::join(row.flags, " ")));
    append(json["status"]);
    append(json["reason"]);
    append(json["bytes_asked"]);
    append(json["algorithm"]["evidence"]);
    append(machine["copy_gbs"][0]);
    append(machine["copy_gbs"][1]);
    append(json["clock_error_us"]);
    for (const char* which : {"last_in", "last_out"}) {
      for (const char* key : {"rank", "host", "share"}) {
        append(row.straggler ? json["straggler"][which][key] : Json());
      }
    }
    out_ << line_ << '\n' << std::flush;
  }
  void end(std::string_view /*status*/, std::string_view /*reason*/) override {}

 private:
  void append(const Json& value) {
    line_ += ',';
    line_ += field_of(value);
  }

  std::ostream& out_;
  std::string line_;
};

}  // namespace

std::unique_ptr<Report> make_csv_report(std::ostream& out) {
  return std::make_unique<CsvReport>(out);
}

}  // namespace commtune
