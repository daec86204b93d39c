#include "tuning/search.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>
#include <set>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/sizes.hpp"
#include "tuning/candidates.hpp"

namespace commtune {
namespace {

constexpr double hopeless = 2;  ///< slower than the default by this everywhere: not measured again

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) * 1e-9;
}

bool flagged(const Row& row, std::string_view flag) {
  return std::find(row.flags.begin(), row.flags.end(), flag) != row.flags.end();
}

/// The parameters that a table can hold: a row's words describe the call, not the algorithm.
Json numbers_of(const Json& params) {
  Json numbers = Json::object();
  for (const auto& [key, value] : params.items()) {
    if (value.is_number_integer()) numbers[key] = value;
  }
  return numbers;
}

/// Everything about one collective while it is being measured.
class CollectiveSearch {
 public:
  CollectiveSearch(const RunOptions& options, const SearchOptions& search, Collective collective,
                   const BenchRunner& runner, const Progress& progress)
      : options_(options),
        search_(search),
        collective_(collective),
        sizes_(collective == Collective::barrier ? std::vector<std::uint64_t>{0} : search.sizes),
        runner_(runner),
        progress_(progress) {
    add(default_candidate(options.transport));
  }

  /// The first run: finds out which library serves the job, hence what the candidates are.
  void start() {
    BenchOutcome outcome = run(0);
    refuse_wrong_default(outcome);
    if (!outcome.reason.empty()) {
      const Errc code = outcome.status == exit_usage         ? Errc::usage
                        : outcome.status == exit_unavailable ? Errc::unavailable
                        : outcome.status == exit_rank_lost   ? Errc::peer
                                                             : Errc::wrong_result;
      fail(code, "{} with the library's default failed, nothing can be tuned: {}",
           name(collective_), outcome.reason);
    }
    describe_entry(outcome);
    store(0, 0, outcome);
    for (Candidate& candidate : candidates_of(entry_.library, collective_, entry_.ranks)) {
      add(std::move(candidate));
    }
    run_ = std::move(outcome.run);
  }

  /// One round in random order; false when the budget ended it.
  bool round(int number, std::mt19937_64& random, std::int64_t started_ns) {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::size_t index : order) {
      const bool done = index == 0 && number == 0;
      if (done || excluded_[index]) continue;
      if (search_.budget_s > 0 && seconds_since(started_ns) >= search_.budget_s) return false;
      progress_(fmt::format("round {}/{}: {} {}", number + 1, search_.rounds, name(collective_),
                            label(candidates_[index])));
      store(index, static_cast<std::size_t>(number), run(index));
    }
    drop_hopeless(static_cast<std::size_t>(number));
    return true;
  }

  TableEntry entry() const {
    TableEntry entry = entry_;
    entry.rules = make_rules(decisions(), measured());
    return entry;
  }
  std::string summary() const { return describe(decisions(), measured()); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::vector<std::string> odd_steps() const {
    return commtune::odd_steps(decisions(), measured(), search_.rules);
  }
  const Json& run_description() const { return run_; }
  std::uint64_t points() const { return points_; }
  std::uint64_t full_grid() const {
    return candidates_.size() * sizes_.size() * static_cast<std::uint64_t>(search_.rounds);
  }
  std::uint64_t lowest() const { return sizes_.front(); }
  std::uint64_t highest() const { return sizes_.back(); }

  /// Sizes at which the machine changed its state so often that the default was kept unseen.
  std::size_t blind_sizes() const {
    std::size_t count = 0;
    for (const SizeDecision& decision : decisions()) {
      if (decision.chosen == 0 && decision.incomparable > 0) ++count;
    }
    return count;
  }

 private:
  void add(Candidate candidate) {
    cells_.push_back({candidate.algorithm, candidate.params, {}});
    excluded_.push_back(false);
    candidates_.push_back(std::move(candidate));
  }

  BenchOutcome run(std::size_t index) {
    BenchRequest request;
    request.collective = collective_;
    request.algorithm = candidates_[index].bench_algorithm;
    request.sizes = sizes_;
    request.environment = candidates_[index].environment;
    request.trace = options_.transport == "mpi" && entry_.library != "mpich";
    request.time_limit_s = search_.time_limit_s;
    return runner_(request);
  }

  void describe_entry(const BenchOutcome& outcome) {
    const Row& row = outcome.rows.front();
    entry_.collective = collective_;
    entry_.ranks = row.ranks;
    entry_.nodes = std::max(1, row.nodes);
    entry_.ppn = row.ppn > 0 ? row.ppn : row.ranks;
    entry_.dtype_class = dtype_class(options_.dtype);
    // Only an MPI has collectives of its own to choose from.
    entry_.library =
        row.library.empty() || options_.transport != "mpi" ? std::string(own_library) : row.library;
    if (!std::any_of(outcome.rows.begin(), outcome.rows.end(),
                     [](const Row& each) { return flagged(each, "oversubscribed"); })) {
      return;
    }
    if (!search_.force) {
      fail(Errc::wrong_result,
           "{} ranks on {} node(s) outnumber the processors they may use: the times would be the "
           "scheduler's. Use fewer ranks or more processors, or --force",
           entry_.ranks, entry_.nodes);
    }
    warnings_.push_back(
        fmt::format("{}: measured with more ranks than processors (--force)", name(collective_)));
  }

  /// Nothing can be recommended next to a default that is wrong.
  void refuse_wrong_default(const BenchOutcome& outcome) const {
    for (const Row& row : outcome.rows) {
      if (row.check_wrong == 0) continue;
      fail(Errc::wrong_result,
           "{}: the library's default gives wrong data at {} bytes, so no table is recommended: "
           "{}. Look for preloaded libraries and faulty hardware, or report it to the library",
           name(collective_), row.bytes_asked, row.reason);
    }
  }

  void exclude(std::size_t index, const std::string& reason) {
    excluded_[index] = true;
    cells_[index].cells.clear();
    warnings_.push_back(
        fmt::format("{} {}: excluded, {}", name(collective_), label(candidates_[index]), reason));
    progress_(warnings_.back());
  }

  std::string why_unusable(std::size_t index, const BenchOutcome& outcome) const {
    for (const Row& row : outcome.rows) {
      if (row.check_wrong != 0) {
        return fmt::format("wrong data at {} bytes: {}", row.bytes_asked, row.reason);
      }
    }
    if (!outcome.reason.empty()) return outcome.reason;
    const bool any_ran = std::any_of(outcome.rows.begin(), outcome.rows.end(), [&](const Row& row) {
      return row.status == "ok" && ran_as_asked(index, row);
    });
    if (any_ran) return "";
    for (const Row& row : outcome.rows) {
      if (row.status == "ok") {
        return fmt::format("asking for it had no effect: {} ran", row.algorithm_used);
      }
    }
    return outcome.rows.empty() ? "no rows" : outcome.rows.front().reason;
  }

  bool ran_as_asked(std::size_t index, const Row& row) const {
    return index == 0 || row.algorithm_evidence != "traced" ||
           row.algorithm_used == candidates_[index].algorithm;
  }

  std::string evidence(std::size_t index, const Row& row) const {
    if (index == 0 || entry_.library == own_library || row.algorithm_evidence == "traced") {
      return row.algorithm_evidence;
    }
    return entry_.library == "mpich" ? "forced, MPIR_CVAR_COLLECTIVE_FALLBACK=error" : "forced";
  }

  /// Comparable between candidates: a forced parameter makes another algorithm of it.
  std::string served_by(std::size_t index, const Row& row) const {
    if (entry_.library == own_library)
      return row.algorithm_used + " " + numbers_of(row.params).dump();
    if (row.algorithm_evidence != "traced") return "";
    return row.algorithm_used + " " + candidates_[index].params.dump();
  }

  void store(std::size_t index, std::size_t round, const BenchOutcome& outcome) {
    if (index == 0) refuse_wrong_default(outcome);
    const std::string reason = why_unusable(index, outcome);
    if (!reason.empty() && index != 0) return exclude(index, reason);
    if (!reason.empty()) {
      warnings_.push_back(
          fmt::format("{} default, round {}: {}", name(collective_), round + 1, reason));
    }
    CandidateCells& cells = cells_[index];
    cells.cells.resize(round + 1);
    cells.cells[round].assign(sizes_.size(), std::nullopt);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Row* row = find_row(outcome, sizes_[i]);
      if (row == nullptr || row->status != "ok" || !row->time) continue;
      ++points_;
      if (!ran_as_asked(index, *row)) continue;
      cells.cells[round][i] =
          Cell{row->time->median,   row->time->ci_low,     row->time->ci_high,
               machine_state(*row), evidence(index, *row), served_by(index, *row)};
      if (index != 0 && entry_.library == own_library) cells.params = numbers_of(row->params);
    }
  }

  void drop_hopeless(std::size_t round) {
    for (std::size_t index = 1; index < candidates_.size(); ++index) {
      if (excluded_[index] || cells_[index].cells.size() <= round) continue;
      bool all = cells_[0].cells.size() > round;
      for (std::size_t i = 0; all && i < sizes_.size(); ++i) {
        const auto& standard = cells_[0].cells[round][i];
        const auto& cell = cells_[index].cells[round][i];
        all = !cell || !standard || cell->ci_low > hopeless * standard->ci_high;
      }
      if (!all) continue;
      excluded_[index] = true;
      progress_(fmt::format("{} {}: more than {} times slower everywhere, not measured again",
                            name(collective_), label(candidates_[index]), hopeless));
    }
  }

  /// Rounds that a dropped candidate missed stay missing, so it cannot win.
  const std::vector<CandidateCells>& measured() const { return cells_; }
  std::vector<SizeDecision> decisions() const { return decide(sizes_, cells_, search_.rules); }

  const RunOptions& options_;
  const SearchOptions& search_;
  Collective collective_;
  std::vector<std::uint64_t> sizes_;
  const BenchRunner& runner_;
  const Progress& progress_;
  std::vector<Candidate> candidates_;
  std::vector<CandidateCells> cells_;
  std::vector<bool> excluded_;
  std::vector<std::string> warnings_;
  TableEntry entry_;
  Json run_ = Json::object();
  std::uint64_t points_ = 0;
};

void add_to_table(const CollectiveSearch& one, DecisionTable& table) {
  if (table.entries.empty()) {
    table.run = one.run_description();
    table.measured_low = one.lowest();
    table.measured_high = one.highest();
  }
  table.measured_low = std::min(table.measured_low, one.lowest());
  table.measured_high = std::max(table.measured_high, one.highest());
  table.entries.push_back(one.entry());
  const int ranks = table.entries.back().ranks;
  if (std::find(table.measured_ranks.begin(), table.measured_ranks.end(), ranks) ==
      table.measured_ranks.end()) {
    table.measured_ranks.push_back(ranks);
    std::sort(table.measured_ranks.begin(), table.measured_ranks.end());
  }
  table.points += one.points();
  table.full_grid += one.full_grid();
  const auto& warnings = one.warnings();
  table.warnings.insert(table.warnings.end(), warnings.begin(), warnings.end());
  for (const std::string& step : one.odd_steps()) {
    table.warnings.push_back(fmt::format("{}: {}", name(table.entries.back().collective), step));
  }
  if (const std::size_t blind = one.blind_sizes(); blind > 0) {
    table.warnings.push_back(fmt::format(
        "{}: the machine changed its state between runs; rounds were set aside at {} sizes where "
        "the default was kept",
        name(table.entries.back().collective), blind));
  }
}

}  // namespace

std::string_view dtype_class(DataType type) noexcept {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float32:
    case DataType::float64:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return "float";
    case DataType::int8:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64:
    case DataType::uint8:
      return "integer";
  }
  return "";
}

void describe_command(const RunOptions& options, Json& run) {
  run["argv"] = options.argv;
  run["label"] = options.label.empty() ? Json() : Json(options.label);
}

SearchReport search(const RunOptions& options, const SearchOptions& search_options,
                    const BenchRunner& runner, const Progress& progress,
                    const Checkpoint& checkpoint) {
  require(!search_options.sizes.empty(), "--sizes: no sizes to measure");
  require(std::is_sorted(search_options.sizes.begin(), search_options.sizes.end()) &&
              std::set(search_options.sizes.begin(), search_options.sizes.end()).size() ==
                  search_options.sizes.size(),
          "--sizes: a decision table needs ascending sizes");
  const std::int64_t started_ns = monotonic_ns();
  std::mt19937_64 random(options.seed);
  SearchReport report;
  std::vector<CollectiveSearch> searches;
  searches.reserve(search_options.collectives.size());
  const auto assemble = [&](const std::string& incomplete) {
    report.table = DecisionTable{};
    report.summary.clear();
    for (const CollectiveSearch& one : searches) {
      add_to_table(one, report.table);
      report.summary +=
          fmt::format("{}, {} ranks, {}\n", name(report.table.entries.back().collective),
                      report.table.entries.back().ranks, report.table.entries.back().library) +
          one.summary();
    }
    describe_command(options, report.table.run);
    report.table.seconds = seconds_since(started_ns);
    if (!incomplete.empty()) report.table.warnings.push_back(incomplete);
  };
  for (const Collective collective : search_options.collectives) {
    progress(fmt::format("{}: default, {} sizes from {} to {}", name(collective),
                         search_options.sizes.size(), format_size(search_options.sizes.front()),
                         format_size(search_options.sizes.back())));
    searches.emplace_back(options, search_options, collective, runner, progress).start();
  }
  std::string incomplete;
  for (int number = 0; number < search_options.rounds && incomplete.empty(); ++number) {
    for (CollectiveSearch& one : searches) {
      if (one.round(number, random, started_ns)) continue;
      incomplete = fmt::format("incomplete: the budget of {:.0f} s ended in round {} of {}",
                               search_options.budget_s, number + 1, search_options.rounds);
      break;
    }
    if (number + 1 == search_options.rounds || !incomplete.empty()) break;
    assemble(fmt::format("incomplete: {} of {} rounds", number + 1, search_options.rounds));
    checkpoint(report.table);
  }
  assemble(incomplete);
  return report;
}

}  // namespace commtune
