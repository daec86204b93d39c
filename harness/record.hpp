#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/topology.hpp"
#include "harness/clock_map.hpp"
#include "harness/options.hpp"
#include "transports/job.hpp"

namespace commtune {

struct TimeSummary {  ///< microseconds
  double median = 0, ci_low = 0, ci_high = 0, mean = 0, min = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0,
         max = 0;
  std::size_t samples = 0;
};

/// The machine around a row: design decision 11. Values before and after the row.
struct MachineState {
  std::optional<double> c2c_ns[2];    ///< one-way cache-line hand-over between two cores
  std::optional<double> copy_gbs[2];  ///< memcpy of 8 MiB
  double load = 0;                    ///< 1-minute load average
  double steal = 0;                   ///< share of processor time stolen during the row
};

/// The rank that was the last one in most iterations of a row.
struct Straggler {
  int rank = 0;
  std::string host;
  double share = 0;  ///< of the kept iterations
};
struct Stragglers {
  Straggler last_in, last_out;
};

/// One result row of `commtune.result/1`; a missing number is null.
struct Row {
  std::string test, collective, transport, library, device = "host";
  int ranks = 0, nodes = 1, ppn = 0;
  std::string algorithm_asked, algorithm_used, algorithm_evidence;
  Json params = Json::object();
  /// `bytes_total` is what algorithm bandwidth counts: total_bytes() of a collective; in a
  /// point-to-point row the messages of one way of the pattern (a window of `bandwidth`).
  std::uint64_t bytes_asked = 0, bytes_per_rank = 0, bytes_total = 0, bytes_off_node = 0, count = 0;
  std::string dtype, op;
  std::optional<int> root;
  bool in_place = false;
  std::string buffers = "hot";
  std::optional<TimeSummary> time;
  std::optional<double> entry_skew_us, clock_error_us, first_call_us, algbw_gbs, busbw_gbs;
  std::optional<Stragglers> straggler;  ///< of collectives of several ranks
  MachineState machine;
  std::uint64_t check_iterations = 0, check_wrong = 0;
  std::optional<double> check_max_ulp = 0;  ///< null: wrong integers, NaN or infinity
  std::vector<std::string> flags;
  std::string status = "ok", reason;
};
Json to_json(const Row&);
/// Strict: throws Error(usage) naming the row and field.
Row row_from_json(const Json&, const std::string& where);

/// Bus-bandwidth factor of nccl-tests: allreduce 2(n-1)/n; allgather, reduce_scatter (n-1)/n;
/// broadcast 1; null for barrier and for n = 1.
std::optional<double> bus_factor(Collective, int ranks);
/// The bytes that algorithm bandwidth counts: the vector for allreduce and broadcast, n times a
/// rank's part for allgather and reduce_scatter.
std::uint64_t total_bytes(Collective, int ranks, std::uint64_t bytes_per_rank);

/// What hwloc reports of this host; of a simulated rank other than 0 nothing, since all of them
/// share the process of rank 0.
Topology topology_for(const Job&);

/// The `run` object: argv, started, hosts, build, kernel, cpu, governor, topology, every rank's
/// placement, library as loaded, selected environment, seed, clocks. Collective; on rank 0,
/// the others get no more than what they know themselves.
Json describe_run(Job&, const RunOptions&, const ClockMap&);

/// The result file that was asked for: always a valid document holding the rows so far.
class ResultFile {
 public:
  /// Writes an empty `partial` document; an empty path makes every call a no-op.
  ResultFile(std::filesystem::path path, Json run);
  void add(const Row&);
  /// Sets members of `run` that are known only later; written with the next row or the end.
  void update_run(const Json& members);
  void finish(std::string_view status, std::string_view reason);

 private:
  std::filesystem::path path_;
  Json document_;
};
/// Replaces what an earlier run left at `path` by an empty `partial` document, before anything
/// starts, so that a job that dies at once leaves no stale result. No-op for an empty path.
void begin_result_file(const std::filesystem::path& path, const RunOptions&);
/// Marks a file that a dead job left `partial` as `failed` with `reason`; no-op when it is
/// finished, absent or not a regular file.
void close_result_file(const std::filesystem::path&, std::string_view reason);

struct ResultDocument {
  std::string status, reason;
  Json run;
  std::vector<Row> rows;
};
/// Strict reader of `commtune.result/1`; Error(usage) names `where` and the field.
ResultDocument result_from_json(const Json&, const std::string& where);
ResultDocument read_result(const std::filesystem::path&);

}  // namespace commtune
