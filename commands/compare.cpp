#include <cstdio>
#include <filesystem>
#include <memory>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "harness/comparison.hpp"

namespace commtune {
namespace {

struct CompareArguments {
  std::vector<std::string> files;
  std::optional<double> max_slowdown_percent;
  bool json = false;
};

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::unknown:
      return "unknown";
  }
  return "unknown";
}

Json to_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    Json times = Json::array();
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      if (!row.times[i]) {
        times.push_back(nullptr);
        continue;
      }
      const auto ratio = row.ratio(i);
      times.push_back({{"median_us", row.times[i]->median_us},
                       {"ci_low", row.times[i]->ci_low_us},
                       {"ci_high", row.times[i]->ci_high_us},
                       {"ratio", ratio ? Json(*ratio) : Json(nullptr)},
                       {"verdict", name_of(row.verdict(i))}});
    }
    rows.push_back({{"what", row.what}, {"times", std::move(times)}});
  }
  return {{"schema", "commtune.comparison/1"}, {"columns", comparison.columns}, {"rows", rows}};
}

std::string cell(const ComparedRow& row, std::size_t i) {
  if (!row.times[i]) return "-";
  const std::string median = fmt::format("{:.4g}", row.times[i]->median_us);
  const auto ratio = row.ratio(i);
  if (i == 0 || !ratio) return median;
  const char* mark = row.verdict(i) == Verdict::unknown ? "?"
                     : row.verdict(i) == Verdict::same  ? "~"
                                                        : "";
  return fmt::format("{} ({:.2f}x{})", median, *ratio, mark);
}

void print_table(const Comparison& comparison) {
  std::size_t widest = 0;
  for (const ComparedRow& row : comparison.rows) widest = std::max(widest, row.what.size());
  fmt::print(
      "# medians in us; ratios to the first file; ~ the 95 % intervals touch, ? a side is "
      "flagged\n");
  fmt::print("{:<{}}", "", widest);
  for (const std::string& column : comparison.columns) fmt::print("  {:>18}", column);
  fmt::print("\n");
  for (const ComparedRow& row : comparison.rows) {
    fmt::print("{:<{}}", row.what, widest);
    for (std::size_t i = 0; i < row.times.size(); ++i) fmt::print("  {:>18}", cell(row, i));
    fmt::print("\n");
  }
}

int run_compare(const CompareArguments& arguments) {
  require(arguments.files.size() >= 2, "compare: one file; give two or more");
  std::vector<ResultDocument> documents;
  std::vector<std::string> names;
  for (const std::string& file : arguments.files) {
    documents.push_back(read_result(file));
    names.push_back(std::filesystem::path(file).stem().string());
  }
  const Comparison comparison = compare_results(documents, names);
  std::size_t common = 0, slower = 0;
  for (const ComparedRow& row : comparison.rows) {
    for (std::size_t i = 1; i < row.times.size(); ++i) {
      const auto ratio = row.ratio(i);
      if (!ratio) continue;
      ++common;
      const bool beyond =
          arguments.max_slowdown_percent && *ratio > 1 + *arguments.max_slowdown_percent / 100;
      if (beyond && row.verdict(i) == Verdict::slower) ++slower;
    }
  }
  if (arguments.json) {
    fmt::print("{}\n", to_json(comparison).dump(2));
  } else {
    print_table(comparison);
  }
  require(common != 0, "compare: the files have no measurement in common");
  if (slower == 0) return exit_ok;
  fmt::print(stderr, "commtune: {} rows are more than {:g} % slower than in {}\n", slower,
             *arguments.max_slowdown_percent, arguments.files[0]);
  return exit_measured_failure;
}

std::function<int()> add_compare(CLI::App& app, const std::vector<std::string>&) {
  auto arguments = std::make_shared<CompareArguments>();
  app.add_option("FILE", arguments->files, "result files; the first one is the base")
      ->required()
      ->type_name("FILE");
  app.add_option_function<double>(
         "--max-slowdown",
         [arguments](const double& percent) {
           require(percent >= 0, "--max-slowdown {}: a percentage from 0 on", percent);
           arguments->max_slowdown_percent = percent;
         },
         "exit status 1 when a row is slower by more than PERCENT and the intervals do not touch")
      ->type_name("PERCENT");
  app.add_flag("--json", arguments->json, "a machine-readable comparison");
  return [arguments] { return run_compare(*arguments); };
}

}  // namespace

extern const Command command_compare{"compare", "set result files side by side", add_compare};

}  // namespace commtune
