#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "harness/options.hpp"
#include "harness/record.hpp"

namespace commtune {

/// One run of this program's `bench` in fresh processes.
struct BenchRequest {
  Collective collective = Collective::allreduce;
  std::string algorithm;  ///< "native", "auto" or a name
  std::vector<std::uint64_t> sizes;
  std::vector<std::pair<std::string, std::string>> environment;
  bool trace = false;         ///< preload the tracer of Open MPI's algorithms
  double time_limit_s = 0.3;  ///< per row
};

/// What came back. `reason` is empty exactly when the run succeeded; rows may exist either way.
struct BenchOutcome {
  int status = 0;
  std::string reason;
  std::vector<Row> rows;
  Json run = Json::object();
};

using BenchRunner = std::function<BenchOutcome(const BenchRequest&)>;

/// Runs `options`' job (ranks, transport, launcher, dtype, ...; ranks 0: as many as the launcher
/// starts) once per request. Earlier choices of
/// algorithms in the environment are removed, and both sides of a comparison get the same allocator
/// settings. Throws Error(unavailable) when this program cannot be started.
BenchRunner process_runner(const RunOptions& options);

/// A value of LD_PRELOAD that loads `library` before what `existing`, another such value, names.
std::string preload_first(const std::string& library, const std::string& existing);
/// The command line of a launcher that starts ranks with `library` first in LD_PRELOAD, provided
/// the launcher's own environment has it so: a value that the command line sets is extended, and
/// Open MPI's launcher is told to forward the variable unless it is already named.
std::string preload_first_in_launcher(const std::string& library, const std::string& launcher);

/// The row for `bytes`, or nullptr.
const Row* find_row(const BenchOutcome&, std::uint64_t bytes);

/// Core-to-core latency around a row in ns, which tells the machine's states apart.
std::optional<double> machine_state(const Row&);
/// False when both states are known and differ by more than `max_change`, a ratio.
bool comparable(std::optional<double> a, std::optional<double> b, double max_change);

}  // namespace commtune
