#include "harness/comparison.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "core/sizes.hpp"

namespace commtune {
namespace {

std::string key_of(const Row& row) {
  std::string key = fmt::format("{} {} {} {}", row.test, row.algorithm_asked,
                                format_size(row.bytes_asked), row.dtype);
  const auto add = [&key](bool said, const std::string& text) {
    if (said) key += " " + text;
  };
  add(!row.op.empty(), row.op);
  add(row.root.has_value(), fmt::format("root {}", row.root.value_or(0)));
  add(row.in_place, "in place");
  add(row.buffers != "hot", row.buffers);
  add(row.device != "host", row.device);
  add(true, fmt::format("{} ranks", row.ranks));
  for (const auto& [name, value] : row.params.items()) {
    const std::string param =
        name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
    // Only transports with memory of their own tell registered buffers from others.
    add(param != "buffers=registered", param);
  }
  return key;
}

bool suspect(const Row& row) {
  constexpr std::array<std::string_view, 3> doubts{"not_stationary", "state_changed",
                                                   "few_samples"};
  return row.check_wrong != 0 ||
         std::any_of(doubts.begin(), doubts.end(), [&](std::string_view flag) {
           return std::find(row.flags.begin(), row.flags.end(), flag) != row.flags.end();
         });
}

/// The shortest description that differs between the files.
std::string column_of(const ResultDocument& document, const std::string& name) {
  if (const auto label = document.run.find("label");
      label != document.run.end() && label->is_string()) {
    return label->get<std::string>();
  }
  if (document.rows.empty()) return name;
  const Row& row = document.rows.front();
  return row.library.empty() || row.library == row.transport
             ? row.transport
             : fmt::format("{}/{}", row.transport, row.library);
}

}  // namespace

Verdict ComparedRow::verdict(std::size_t i) const {
  if (!times[0] || !times[i] || times[0]->suspect || times[i]->suspect) return Verdict::unknown;
  if (times[i]->ci_high_us < times[0]->ci_low_us) return Verdict::faster;
  if (times[i]->ci_low_us > times[0]->ci_high_us) return Verdict::slower;
  return Verdict::same;
}

std::optional<double> ComparedRow::ratio(std::size_t i) const {
  if (!times[0] || !times[i] || times[0]->median_us <= 0) return std::nullopt;
  return times[i]->median_us / times[0]->median_us;
}

Comparison compare_results(const std::vector<ResultDocument>& documents,
                           const std::vector<std::string>& names) {
  Comparison comparison;
  std::map<std::string, std::size_t> known;
  for (std::size_t file = 0; file < documents.size(); ++file) {
    comparison.columns.push_back(column_of(documents[file], names[file]));
    for (const Row& row : documents[file].rows) {
      if (row.status != "ok" || !row.time) continue;
      const std::string key = key_of(row);
      const auto [at, fresh] = known.try_emplace(key, comparison.rows.size());
      if (fresh) comparison.rows.push_back({key, {documents.size(), std::nullopt}});
      comparison.rows[at->second].times[file] =
          ComparedTime{row.time->median, row.time->ci_low, row.time->ci_high, suspect(row)};
    }
  }
  // Two files of one kind need their names to be told apart.
  const std::vector<std::string> columns = comparison.columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool shared = std::count(columns.begin(), columns.end(), columns[i]) > 1;
    if (shared) comparison.columns[i] = names[i];
  }
  return comparison;
}

}  // namespace commtune
