#pragma once
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/libraries/library.hpp"
#include "harness/measure.hpp"
#include "harness/record.hpp"
#include "harness/report.hpp"
#include "microbench/nodes.hpp"
#include "microbench/sample_files.hpp"
#include "microbench/session.hpp"

namespace commtune {

/// What one rank found wrong in one row.
struct CheckSummary {
  std::uint64_t iterations = 0, wrong = 0;
  std::string first;  ///< "iteration 0, element 8: got 3, expected 4"; empty when nothing is wrong
  std::optional<double> max_ulp = 0;  ///< as in CheckResult, over all iterations

  /// Adds one iteration; `where` describes its first wrong element.
  void add(std::uint64_t wrong_elements, std::optional<double> ulp, const std::string& where);
};

/// What one rank knows while benchmarks run. Rows are the same on all ranks; rank 0 writes them.
class BenchContext {
 public:
  BenchContext(Job&, const BenchPlan&, std::ostream& out);

  Job& job() noexcept { return job_; }
  const RunOptions& options() const noexcept { return plan_.options; }
  const Benchmark& benchmark() const noexcept { return *benchmark_; }
  ClockMap& clocks() noexcept { return clocks_; }
  const NodeMap& nodes() const noexcept { return nodes_; }
  std::size_t cache_bytes() const noexcept { return cache_bytes_; }
  std::size_t private_cache_bytes() const noexcept { return private_cache_bytes_; }
  /// A library of the options by the name it was asked for, "native" also with `all`. Null when it
  /// cannot be had; library_missing() says why.
  Library* library(const std::string& name) const;
  std::string library_missing(const std::string& name) const;
  Selection select(Collective, std::uint64_t bytes) const;
  /// Why the algorithm cannot serve `call` on this job's ranks, for the first root that it refuses
  /// of those that will be used; empty when it can.
  std::string refusal_of(const Algorithm&, const Params&, const Call&) const;
  /// What verify() finds wrong with the schedule that `call` would run, for every root that will be
  /// used; empty when it is proved or too large to be. Equal on all ranks; remembered.
  const std::string& fault_of(const Algorithm&, const Params&, const Call&);
  /// The sizes asked for, or the running benchmark's default.
  std::vector<std::uint64_t> sizes() const;

  void run(const Benchmark&);

  /// A row with everything that does not depend on the algorithm and the size.
  Row new_row() const;
  /// Says in the row where its buffers come from, on transports for which that makes a difference.
  void describe_buffers(Row&, BufferKind) const;
  /// Tells the watchdog what runs now; `operation` is "allreduce/ring".
  void announce(std::string_view operation, const Row&);
  /// Collective: probes the machine before (0) and after (1) the timed part.
  void probe(Row&, int which);
  /// Fills the times and bandwidths of `row` from its samples.
  void record_series(Row&, const Series&) const;
  /// Collective: merges every rank's check into the row; rank 0 reports the first wrong element.
  void record_check(Row&, const CheckSummary&);
  /// Collective: writes the row, and its series to the files that keep samples.
  void emit(const Row&, const Series&);
  void skip(Row, std::string reason);

  int finish();
  void finish_failed(std::string_view reason);

 private:
  void open_files();
  /// Entry skew, clock error and stragglers of a collective.
  void describe_ranks(Row&, const Series&) const;
  void open_libraries();

  Job& job_;
  const BenchPlan& plan_;
  std::ostream& out_;
  ClockMap clocks_;
  std::vector<std::string> hosts_;  ///< of every rank
  NodeMap nodes_;
  MachineProbe probe_;
  std::size_t cache_bytes_ = 0, private_cache_bytes_ = 0;
  bool oversubscribed_ = false;
  std::set<std::string> placement_flags_;  ///< of every row, on rank 0
  struct OpenedLibrary {
    std::unique_ptr<Library> library;
    std::string missing;
  };
  std::map<std::string, OpenedLibrary, std::less<>> libraries_;
  const Benchmark* benchmark_ = nullptr;
  std::unique_ptr<ResultFile> file_;
  std::unique_ptr<Report> report_;
  std::unique_ptr<SampleFile> samples_;          ///< rank 0, if asked for
  std::unique_ptr<IterationTimeline> timeline_;  ///< every rank, if asked for
  std::uint64_t failed_rows_ = 0, skipped_rows_ = 0, rows_ = 0;
  std::map<std::tuple<const Algorithm*, std::string, bool>, std::string> faults_;
};

}  // namespace commtune
