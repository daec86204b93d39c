#include "microbench/context.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "collectives/schedule/verify.hpp"
#include "core/error.hpp"
#include "core/sizes.hpp"
#include "core/topology.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

Json library_json(const LoadedLibrary& identity) {
  return {{"name", identity.name},
          {"version", identity.version},
          {"path", identity.path},
          {"built_version", identity.built_version}};
}

}  // namespace

BenchContext::BenchContext(Job& job, const BenchPlan& plan, std::ostream& out)
    : job_(job), plan_(plan), out_(out), clocks_(synchronise_clocks(job)), probe_(job) {
  const Topology topology = topology_for(job);
  hosts_ = allgather_string(job.bootstrap, job.host.empty() ? topology.host : job.host);
  nodes_ = map_nodes(hosts_);
  cache_bytes_ = topology.l3_bytes != 0 ? topology.l3_bytes : std::size_t{32} << 20;
  private_cache_bytes_ = topology.l2_bytes != 0 ? topology.l2_bytes : std::size_t{2} << 20;
  const std::uint8_t crowded = job.transport.crowded() ? 1 : 0;
  for (const std::uint8_t any : allgather_value(job.bootstrap, crowded)) {
    oversubscribed_ = oversubscribed_ || any != 0;
  }
  open_libraries();
  open_files();
}

void BenchContext::open_libraries() {
  const auto& asked = options().algorithms;
  for (const std::string& name : asked) {
    if (names_library(name) && library(name) == nullptr) {
      libraries_[name].library = open_library(job_, name);
    }
  }
  const bool all = std::find(asked.begin(), asked.end(), "all") != asked.end();
  if (!all || library("native") != nullptr) return;
  OpenedLibrary& native = libraries_["native"];
  try {
    native.library = open_library(job_);
  } catch (const Error& error) {
    native.missing = error.what();
  }
}

Library* BenchContext::library(const std::string& name) const {
  const auto found = libraries_.find(name);
  return found == libraries_.end() ? nullptr : found->second.library.get();
}

std::string BenchContext::library_missing(const std::string& name) const {
  const auto found = libraries_.find(name);
  return found == libraries_.end() ? "" : found->second.missing;
}

void BenchContext::open_files() {
  Json run = describe_run(job_, options(), clocks_);
  if (!plan_.timeline.empty())
    timeline_ = std::make_unique<IterationTimeline>(job_, plan_.timeline);
  if (job_.rank() != 0) return;
  for (const Json& flag : run.at("placement")) placement_flags_.insert(flag.get<std::string>());
  for (const auto& [name, opened] : libraries_) {
    if (opened.library == nullptr) continue;
    const LoadedLibrary identity = opened.library->identity();
    if (!identity.name.empty()) run["libraries"][name] = library_json(identity);
  }
  file_ = std::make_unique<ResultFile>(options().output, run);
  report_ = make_report(options().format, out_);
  report_->begin(run);
  if (!options().samples.empty()) samples_ = std::make_unique<SampleFile>(options().samples);
}

Selection BenchContext::select(Collective collective, std::uint64_t bytes) const {
  if (plan_.select) return plan_.select(collective, job_.size(), bytes, options().dtype);
  return select_built_in(collective, job_.size(), bytes);
}

std::vector<std::uint64_t> BenchContext::sizes() const {
  if (benchmark().default_sizes.empty()) return {0};
  if (!options().sizes.empty()) return options().sizes;
  return parse_sizes(benchmark().default_sizes, benchmark().name);
}

void BenchContext::run(const Benchmark& benchmark) {
  benchmark_ = &benchmark;
  if (job_.size() < minimum_ranks(benchmark)) {
    skip(new_row(), fmt::format("needs {} ranks", minimum_ranks(benchmark)));
    return;
  }
  benchmark.run(*this);
}

Row BenchContext::new_row() const {
  Row row;
  row.test = benchmark().name;
  if (benchmark().collective) row.collective = name(*benchmark().collective);
  row.transport = job_.transport.name();
  row.library = job_.library.name;
  row.device = options().device;
  row.ranks = job_.size();
  row.nodes = nodes_.nodes;
  row.ppn = nodes_.largest;
  row.buffers = options().cold ? "cold" : "hot";
  if (oversubscribed_) row.flags.emplace_back("oversubscribed");
  row.flags.insert(row.flags.end(), placement_flags_.begin(), placement_flags_.end());
  return row;
}

void BenchContext::describe_buffers(Row& row, BufferKind kind) const {
  if (job_.transport.capabilities().mapped_memory) row.params["buffers"] = name(kind);
}

void BenchContext::announce(std::string_view operation, const Row& row) {
  job_.monitor.describe(operation, row.bytes_per_rank);
  job_.monitor.enter(Phase::setup);
}

void BenchContext::probe(Row& row, int which) {
  job_.monitor.enter(Phase::idle);
  probe_.sample(row, which);
}

void BenchContext::describe_ranks(Row& row, const Series& series) const {
  row.entry_skew_us = series.entry_skew_us;
  row.clock_error_us = series.clock_error_us;
  if (row.ranks == 1) return;
  const auto straggler = [&](Rank Iteration::*which) {
    const Latest latest = most_often(series.iterations, which);
    return Straggler{latest.rank, hosts_[static_cast<std::size_t>(latest.rank)], latest.share};
  };
  row.straggler =
      Stragglers{straggler(&Iteration::last_in_rank), straggler(&Iteration::last_out_rank)};
}

void BenchContext::record_series(Row& row, const Series& series) const {
  row.time = summarise(series.samples_us, options().sampling.confidence);
  row.first_call_us = series.first_call_us;
  const bool collective = benchmark().kind == BenchmarkKind::collective;
  if (collective) describe_ranks(row, series);
  row.flags.insert(row.flags.end(), series.flags.begin(), series.flags.end());
  if (row.time->median <= 0 || row.bytes_total == 0) return;
  row.algbw_gbs = static_cast<double>(row.bytes_total) / (row.time->median * 1e3);
  std::optional<double> factor;
  if (benchmark().collective) {
    factor = bus_factor(*benchmark().collective, row.ranks);
  } else if (!collective) {
    factor = 1;
  }
  if (factor) row.busbw_gbs = *row.algbw_gbs * *factor;
}

void CheckSummary::add(std::uint64_t wrong_elements, std::optional<double> ulp,
                       const std::string& where) {
  if (wrong == 0 && wrong_elements != 0) {
    first = fmt::format("iteration {}, {}", iterations, where);
  }
  ++iterations;
  wrong += wrong_elements;
  if (max_ulp) max_ulp = ulp ? std::max(max_ulp, ulp) : std::nullopt;
}

void BenchContext::record_check(Row& row, const CheckSummary& mine) {
  row.check_iterations = mine.iterations;
  std::string where;
  const auto counts = allgather_value(job_.bootstrap, mine.wrong);
  const auto texts = gather_string(job_.bootstrap, mine.first);
  constexpr double undefined = -1;
  for (const double ulp : allgather_value(job_.bootstrap, mine.max_ulp.value_or(undefined))) {
    if (row.check_max_ulp) {
      row.check_max_ulp =
          ulp == undefined ? std::nullopt : std::optional(std::max(*row.check_max_ulp, ulp));
    }
  }
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    row.check_wrong += counts[rank];
    if (counts[rank] != 0 && where.empty() && !texts.empty()) {
      where = fmt::format("rank {}, {}", rank, texts[rank]);
    }
  }
  if (row.check_wrong == 0) return;
  row.status = "failed";
  row.reason = fmt::format("wrong data: {} elements; first: {}", row.check_wrong, where);
}

std::string BenchContext::refusal_of(const Algorithm& algorithm, const Params& params,
                                     const Call& call) const {
  Shape shape{.size = job_.size(), .root = call.root, .in_place = call.in_place};
  const bool rotate = options().rotate_root && rooted(call.collective);
  if (!rotate) return refusal(algorithm, shape, params);
  std::string reason;
  for (shape.root = 0; shape.root < job_.size() && reason.empty(); ++shape.root) {
    reason = refusal(algorithm, shape, params);
  }
  return reason;
}

const std::string& BenchContext::fault_of(const Algorithm& algorithm, const Params& params,
                                          const Call& call) {
  constexpr Rank largest_proof = 256;
  constexpr std::string_view every_knob =
      "segments,radix,channels,leaders,group,cluster,intra,inter";
  const auto [entry, fresh] =
      faults_.try_emplace({&algorithm, describe(params, every_knob), call.in_place});
  std::string& fault = entry->second;
  if (!fresh || !plan_.prove || job_.size() > largest_proof) return fault;
  const bool rotate = options().rotate_root && rooted(call.collective);
  const Rank first = rotate ? 0 : call.root;
  const Rank last = rotate ? job_.size() - 1 : call.root;
  // One rank proves for all: the others' processors stay free, or are this one.
  for (Rank root = first; job_.rank() == 0 && root <= last && fault.empty(); ++root) {
    const Shape shape{.size = job_.size(), .root = root, .in_place = call.in_place};
    if (const auto violation = verify(algorithm, shape, params)) fault = violation->detail;
  }
  fault = allgather_string(job_.bootstrap, fault).front();
  return fault;
}

void BenchContext::emit(const Row& row, const Series& series) {
  job_.monitor.enter(Phase::idle);
  ++rows_;
  if (row.status == "failed") ++failed_rows_;
  if (row.status == "skipped") ++skipped_rows_;
  if (timeline_) timeline_->add(row, series);
  if (job_.rank() != 0) return;
  if (!clocks_.shared()) {
    const Json clocks = describe_clocks(clocks_, hosts_);
    file_->update_run(clocks);
    report_->update_run(clocks);
  }
  file_->add(row);
  report_->add(row);
  if (row.status == "failed") {
    fmt::print(stderr, "commtune: {}/{}{}{}, {} ranks, {} bytes, {}: {}\n", row.test,
               row.algorithm_asked, row.library.empty() ? "" : ", library ", row.library, row.ranks,
               row.bytes_per_rank, row.dtype, row.reason);
  }
  if (samples_) samples_->add(row, series);
}

void BenchContext::skip(Row row, std::string reason) {
  row.status = "skipped";
  row.reason = std::move(reason);
  emit(row, {});
}

int BenchContext::finish() {
  const bool failed = failed_rows_ != 0;
  if (timeline_) timeline_->close();
  const std::string reason = failed ? fmt::format("{} rows failed", failed_rows_) : "";
  if (job_.rank() == 0) {
    file_->finish(failed ? "failed" : "ok", reason);
    report_->end(failed ? "failed" : "ok", reason);
    if (rows_ != 0 && skipped_rows_ == rows_) {
      fmt::print(stderr,
                 "commtune: nothing was measured: all {} rows were skipped, each with its "
                 "reason\n",
                 rows_);
    }
  }
  job_.bootstrap.barrier();  // no rank ends the job before rank 0 has written
  return failed ? exit_measured_failure : exit_ok;
}

void BenchContext::finish_failed(std::string_view reason) {
  if (job_.rank() != 0) return;
  file_->finish("failed", reason);
  report_->end("failed", reason);
}

}  // namespace commtune
