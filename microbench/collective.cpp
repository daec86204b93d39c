#include "microbench/collective.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "collectives/runtime/reference.hpp"
#include "core/error.hpp"
#include "microbench/call_slots.hpp"
#include "microbench/choice.hpp"
#include "microbench/cold.hpp"
#include "microbench/context.hpp"
#include "microbench/memory.hpp"
#include "microbench/off_node.hpp"

namespace commtune {
namespace {

/// The prepared operations of one row, with the memory they work on.
struct Prepared {
  std::unique_ptr<CallSlots> memory;
  std::vector<std::unique_ptr<Operation>> operations;
};

/// Uneven parts, some of them empty: 1, 2 and 0 times `count` in turn; of alltoall by the sum of
/// both ranks.
std::vector<std::uint64_t> uneven_counts(Collective collective, Rank size, std::uint64_t count) {
  const auto ranks = static_cast<std::uint64_t>(size);
  std::vector<std::uint64_t> counts;
  if (collective != Collective::alltoall) {
    for (std::uint64_t r = 0; r < ranks; ++r) counts.push_back((r + 1) % 3 * count);
    return counts;
  }
  for (std::uint64_t from = 0; from < ranks; ++from) {
    for (std::uint64_t to = 0; to < ranks; ++to) counts.push_back((from + to + 1) % 3 * count);
  }
  return counts;
}

Call describe_call(const BenchContext& context, std::uint64_t count) {
  const RunOptions& options = context.options();
  Call call;
  call.collective = *context.benchmark().collective;
  call.count = count;
  call.type = options.dtype;
  call.op = options.op;
  call.root = options.rotate_root ? 0 : options.root;
  call.in_place = options.in_place && call.collective != Collective::barrier;
  return call;
}

/// As total_bytes() counts: all parts, of alltoall those that a rank sends on average.
std::uint64_t uneven_bytes(const Call& call, Rank ranks) {
  const std::uint64_t elements =
      std::accumulate(call.counts.begin(), call.counts.end(), std::uint64_t{0});
  const auto senders =
      call.collective == Collective::alltoall ? static_cast<std::uint64_t>(ranks) : 1;
  return elements * size_of(call.type) / senders;
}

void describe_row(Row& row, const Call& call, std::uint64_t bytes_asked,
                  const RunOptions& options) {
  row.count = call.count;
  row.bytes_asked = bytes_asked;
  row.bytes_per_rank = call.count * size_of(call.type);
  row.bytes_total = call.counts.empty()
                        ? total_bytes(call.collective, row.ranks, row.bytes_per_rank)
                        : uneven_bytes(call, row.ranks);
  row.in_place = call.in_place;
  if (!call.counts.empty()) row.params["parts"] = "1, 2 and 0 times the size, in turn";
  if (call.collective != Collective::barrier) row.dtype = name(call.type);
  if (reduces(call.collective)) row.op = name(call.op);
  if (!rooted(call.collective)) return;
  if (options.rotate_root) {
    row.params["root"] = "rotate";
  } else {
    row.root = call.root;
  }
}

/// Collective: the same verdict on every rank. Empty when all could prepare.
Row prepare_all(BenchContext& context, const Choice& choice, const Call& call, std::size_t pairs,
                BufferKind kind, Prepared& prepared, Row row) {
  Job& job = context.job();
  std::string problem;
  bool refused = false;
  try {
    if (choice.library != nullptr) problem = choice.library->unsupported(call);
    refused = !problem.empty();
    if (!refused) {
      const bool rotate = context.options().rotate_root && rooted(call.collective);
      prepared.memory = std::make_unique<CallSlots>(job.transport, call, pairs, rotate, kind);
      for (const CallSlot& slot : prepared.memory->slots()) {
        prepared.operations.push_back(
            choice.library != nullptr
                ? choice.library->prepare(slot.call)
                : prepare(job.transport, *choice.algorithm, choice.params, slot.call));
      }
    }
  } catch (const Error& error) {
    if (error.code() == Errc::peer) throw;
    problem = error.what();
    refused = error.code() == Errc::usage || error.code() == Errc::unavailable;
  } catch (const std::bad_alloc&) {
    problem = "out of memory";
  }
  const auto problems = allgather_string(job.bootstrap, problem);
  const auto verdicts = allgather_value(job.bootstrap, std::uint8_t{refused});
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    row.status = verdicts[rank] != 0 ? "skipped" : "failed";
    const bool shared = std::count(problems.begin(), problems.end(), problems[rank]) ==
                        static_cast<std::ptrdiff_t>(problems.size());
    row.reason = shared ? problems[rank] : fmt::format("rank {}: {}", rank, problems[rank]);
    break;
  }
  return row;
}

/// The call with the output where a library leaves it: libraries broadcast from the root's one
/// buffer, and in place some results lie at the front of the input.
Call library_result(BenchContext& context, const Library& library, const CallSlot& slot) {
  Call call = slot.call;
  if (call.collective == Collective::broadcast && call.root == context.job().rank()) {
    call.output = slot.input;
  } else if (call.in_place && library.result_at_front(call.collective)) {
    call.output = slot.input.first(output_bytes(call, context.job().size(), context.job().rank()));
  }
  return call;
}

/// Runs `check` iterations on fresh data outside the timed part and compares every element.
/// Whether this rank compares its result. The ranks of a simulated job share one processor, and
/// what is expected costs each of them the sum over all ranks.
bool checks_result(const Job& job) {
  constexpr Rank most = 32;
  if (!job.transport.capabilities().simulated_time || job.size() <= most) return true;
  return job.rank() % ((job.size() + most - 1) / most) == 0;
}

void check_results(BenchContext& context, const Choice& choice, Prepared& prepared, Row& row) {
  const std::uint64_t iterations = context.options().check;
  Job& job = context.job();
  if (iterations == 0 || row.count == 0) return;
  job.monitor.enter(Phase::check);
  const auto& slots = prepared.memory->slots();
  CheckSummary summary;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const CallSlot& slot = slots[i % slots.size()];
    const std::uint64_t seed = context.options().seed + i;
    fill_input(slot.call, job.rank(), job.size(), seed, slot.input, slot.output);
    prepared.operations[i % slots.size()]->run();
    job.monitor.beat(i);
    const Call call =
        choice.library != nullptr ? library_result(context, *choice.library, slot) : slot.call;
    CheckResult result;
    if (checks_result(job)) result = check_output(call, job.rank(), job.size(), seed);
    summary.add(result.wrong, result.max_ulp,
                fmt::format("element {}: got {}, expected {}", result.first_index, result.got,
                            result.expected));
  }
  context.record_check(row, summary);
}

Series time_operations(BenchContext& context, Prepared& prepared, std::size_t sweep_bytes) {
  std::uint64_t next = 0;
  const auto& operations = prepared.operations;
  const auto run_next = [&operations, &next] { operations[next++ % operations.size()]->run(); };
  if (sweep_bytes == 0) {
    return measure_collective(context.job(), context.clocks(), context.options().sampling, {},
                              run_next);
  }
  CacheSweep sweep(sweep_bytes);
  return measure_collective(
      context.job(), context.clocks(), context.options().sampling,
      [&sweep](std::uint64_t) { sweep(); }, run_next);
}

void describe_algorithm(const Choice& choice, Row& row) {
  row.algorithm_asked = choice.asked;
  row.algorithm_evidence = choice.evidence;
  if (choice.algorithm == nullptr) {
    row.algorithm_used = "unknown";
    if (choice.library != nullptr) row.library = choice.library->name();
    return;
  }
  row.algorithm_used = choice.algorithm->name;
  row.params.update(params_json(*choice.algorithm, choice.params));
}

void describe_off_node(BenchContext& context, const Choice& choice, const Call& call, Row& row) {
  if (row.nodes == 1) return;
  if (choice.algorithm == nullptr) {
    row.flags.emplace_back("off_node_unknown");
    return;
  }
  const Shape shape{context.job().rank(), context.job().size(), call.root, call.in_place};
  const auto all = allgather_value(
      context.job().bootstrap, off_node_bytes(*choice.algorithm, shape, choice.params, call.count,
                                              size_of(call.type), context.nodes()));
  row.bytes_off_node = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

void run_choice(BenchContext& context, const Choice& choice, const Call& call, BufferKind kind,
                Row row) {
  context.describe_buffers(row, kind);
  describe_algorithm(choice, row);
  if (!choice.skip.empty()) return context.skip(std::move(row), choice.skip);
  if (choice.algorithm != nullptr) {
    std::string refused = context.refusal_of(*choice.algorithm, choice.params, call);
    if (!refused.empty()) return context.skip(std::move(row), std::move(refused));
  }
  Job& job = context.job();
  const std::string operation = fmt::format("{}/{}", row.test, choice.asked);
  context.announce(operation, row);
  agree(job.bootstrap, call, choice.asked);
  if (choice.algorithm != nullptr) {
    const std::string& fault = context.fault_of(*choice.algorithm, choice.params, call);
    if (!fault.empty()) {
      row.status = "failed";
      row.reason = fmt::format("not run, its schedule is wrong: {}", fault);
      return context.emit(row, {});
    }
  }

  const int ppn = context.nodes().largest;
  const bool rotate = context.options().rotate_root;
  const std::uint64_t pair_bytes = slot_bytes(call, job.rank(), job.size(), rotate);
  ColdPlan plan;
  if (context.options().cold) {
    const auto memory = allgather_value(job.bootstrap, available_memory());
    const auto pairs = allgather_value(job.bootstrap, pair_bytes);
    plan = plan_cold(
        *std::max_element(pairs.begin(), pairs.end()), context.cache_bytes(),
        context.private_cache_bytes(), ppn,
        *std::min_element(memory.begin(), memory.end()) / 2 / static_cast<std::uint64_t>(ppn));
  }
  const std::string shortage =
      memory_shortage(job, pair_bytes * plan.pairs + plan.sweep_bytes, ppn);
  if (!shortage.empty()) return context.skip(std::move(row), shortage);

  Prepared prepared;
  row = prepare_all(context, choice, call, plan.pairs, kind, prepared, std::move(row));
  if (row.status != "ok") return context.emit(row, {});
  for (const CallSlot& slot : prepared.memory->slots()) {
    fill_input(slot.call, job.rank(), job.size(), context.options().seed, slot.input, slot.output);
  }
  context.probe(row, 0);
  const Series series = time_operations(context, prepared, plan.sweep_bytes);
  context.probe(row, 1);
  context.record_series(row, series);
  if (choice.library != nullptr) {
    const std::string observed = choice.library->observed_algorithm(call.collective);
    if (!observed.empty()) row.algorithm_used = observed;
    if (observed.empty()) {
      row.algorithm_evidence = "not observed";
    } else if (choice.evidence.empty()) {
      row.algorithm_evidence = "traced";
    }
  }
  check_results(context, choice, prepared, row);
  describe_off_node(context, choice, call, row);
  context.emit(row, series);
}

}  // namespace

void run_collective_benchmark(BenchContext& context) {
  const RunOptions& options = context.options();
  const Collective collective = *context.benchmark().collective;
  for (const std::uint64_t asked : context.sizes()) {
    const bool sized = collective != Collective::barrier;
    const std::uint64_t count = sized ? asked / size_of(options.dtype) : 0;
    Call call = describe_call(context, count);
    std::vector<std::uint64_t> counts;
    if (context.benchmark().uneven) {
      counts = uneven_counts(collective, context.job().size(), count);
      call.counts = counts;
    }
    for (const Choice& choice : choose(context, collective, count * size_of(options.dtype))) {
      for (const BufferKind kind : sized ? options.buffers : std::vector{BufferKind::registered}) {
        Row row = context.new_row();
        describe_row(row, call, asked, options);
        if (sized && count == 0 && asked != 0) {
          describe_algorithm(choice, row);
          context.skip(std::move(row),
                       fmt::format("no whole {} element in {} bytes", name(options.dtype), asked));
          continue;
        }
        run_choice(context, choice, call, kind, std::move(row));
      }
    }
  }
}

}  // namespace commtune
