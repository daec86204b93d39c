// A training step with parameter servers: every worker pushes its gradient and pulls the
// parameters.
#include <memory>
#include <utility>

#include "collectives/parameter_server/server.hpp"
#include "collectives/parameter_server/worker.hpp"
#include "collectives/runtime/reference.hpp"
#include "core/error.hpp"
#include "microbench/cold.hpp"
#include "microbench/context.hpp"
#include "microbench/memory.hpp"
#include "microbench/user_buffer.hpp"

namespace commtune {
namespace {

/// What this rank is in one row: one of the servers, or a worker with its memory.
class Role {
 public:
  Role(Job& job, const ParameterPlan& plan, BufferKind kind)
      : job_(job),
        plan_(plan),
        gradient_(job.transport, worker_bytes(job, plan), kind),
        parameters_(job.transport, worker_bytes(job, plan), kind) {
    if (job.rank() < plan.servers) {
      server_ = std::make_unique<ParameterServer>(job.transport, plan);
    } else {
      worker_ = std::make_unique<ParameterWorker>(job.transport, plan, gradient_.bytes(),
                                                  parameters_.bytes());
    }
  }

  static std::uint64_t worker_bytes(const Job& job, const ParameterPlan& plan) {
    return job.rank() < plan.servers ? 0 : plan.count * size_of(plan.type);
  }

  /// One step of every worker.
  void step() {
    if (worker_) worker_->exchange();
    if (server_) server_->run(workers());
  }
  /// The parameters again, without a push.
  void pull() {
    if (worker_) worker_->pull().run();
    if (server_) server_->run(workers());
  }
  void stop() {
    if (worker_) worker_->stop().run();
    if (server_) server_->run();
  }

  /// Zeros on the servers; on a worker what rank `index` of an allreduce among workers has.
  void fill(std::uint64_t seed) {
    if (server_) std::ranges::fill(server_->parameters(), std::byte{});
    if (!worker_) return;
    fill_input(sum(), index(), static_cast<Rank>(workers()), seed, gradient_.bytes(),
               parameters_.bytes());
  }
  /// After one step on filled data a worker has what an allreduce among workers gives.
  CheckResult check(std::uint64_t seed) {
    return worker_ ? check_output(sum(), index(), static_cast<Rank>(workers()), seed)
                   : CheckResult{};
  }

 private:
  std::uint64_t workers() const { return static_cast<std::uint64_t>(job_.size() - plan_.servers); }
  Rank index() const { return job_.rank() - plan_.servers; }
  Call sum() {
    Call call;
    call.count = plan_.count;
    call.type = plan_.type;
    call.input = gradient_.bytes();
    call.output = parameters_.bytes();
    return call;
  }

  Job& job_;
  const ParameterPlan plan_;
  UserBuffer gradient_, parameters_;
  std::unique_ptr<ParameterServer> server_;
  std::unique_ptr<ParameterWorker> worker_;
};

/// Bytes that cross between hosts in one step.
std::uint64_t off_node_bytes(const ParameterPlan& plan, const NodeMap& nodes, Rank ranks) {
  std::uint64_t elements = 0;
  for (Rank server = 0; server < plan.servers; ++server) {
    for (Rank worker = plan.servers; worker < ranks; ++worker) {
      const bool apart = nodes.node_of[static_cast<std::size_t>(server)] !=
                         nodes.node_of[static_cast<std::size_t>(worker)];
      if (apart) elements += 2 * shard_of(plan, server).count;
    }
  }
  return elements * size_of(plan.type);
}

Row describe_row(const BenchContext& context, const ParameterPlan& plan, std::uint64_t asked,
                 BufferKind kind) {
  Row row = context.new_row();
  context.describe_buffers(row, kind);
  const int workers = row.ranks - plan.servers;
  row.bytes_asked = asked;
  row.count = plan.count;
  row.bytes_per_rank = plan.count * size_of(plan.type);
  row.bytes_total = 2 * static_cast<std::uint64_t>(workers) * row.bytes_per_rank;
  row.bytes_off_node = off_node_bytes(plan, context.nodes(), row.ranks);
  row.dtype = name(plan.type);
  row.op = name(ReduceOp::sum);
  row.algorithm_asked = row.algorithm_used = "push-pull";
  row.algorithm_evidence = "the test itself";
  row.params["servers"] = plan.servers;
  row.params["workers"] = workers;
  row.params["mode"] = name(plan.mode);
  return row;
}

void check_steps(BenchContext& context, const ParameterPlan& plan, Role& role, Row& row) {
  Job& job = context.job();
  const std::uint64_t iterations = context.options().check;
  if (iterations == 0 || plan.count == 0) return;
  job.monitor.enter(Phase::check);
  CheckSummary summary;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t seed = context.options().seed + i;
    role.fill(seed);
    job.bootstrap.barrier();
    role.step();
    if (plan.mode == UpdateMode::asynchronous) {
      job.bootstrap.barrier();  // only now all pushes have been added
      role.pull();
    }
    job.monitor.beat(i);
    const CheckResult result = role.check(seed);
    summary.add(result.wrong, result.max_ulp,
                fmt::format("element {}: got {}, expected {}", result.first_index, result.got,
                            result.expected));
    job.bootstrap.barrier();  // all have been answered before the next fill
  }
  context.record_check(row, summary);
}

void run_row(BenchContext& context, const ParameterPlan& plan, BufferKind kind, Row row) {
  Job& job = context.job();
  context.announce(fmt::format("{}/{}", row.test, row.algorithm_used), row);
  const bool serves = job.rank() < plan.servers;
  const std::size_t sweep_bytes = context.options().cold ? 2 * context.cache_bytes() : 0;
  const std::uint64_t bytes = serves
                                  ? ParameterServer::memory_bytes(job.transport, plan, job.rank())
                                  : 2 * row.bytes_per_rank;
  const std::string shortage = memory_shortage(job, bytes + sweep_bytes, context.nodes().largest);
  if (!shortage.empty()) return context.skip(std::move(row), shortage);
  std::unique_ptr<Role> role;
  row.reason = first_problem(job, [&] { role = std::make_unique<Role>(job, plan, kind); });
  if (!row.reason.empty()) {
    row.status = "failed";
    return context.emit(row, {});
  }
  role->fill(context.options().seed);
  CacheSweep sweep(sweep_bytes);
  context.probe(row, 0);
  const Series series = measure_collective(
      job, context.clocks(), context.options().sampling, [&sweep](std::uint64_t) { sweep(); },
      [&role] { role->step(); });
  context.probe(row, 1);
  context.record_series(row, series);
  check_steps(context, plan, *role, row);
  role->stop();
  context.emit(row, series);
}

void run_parameter_server(BenchContext& context) {
  const RunOptions& options = context.options();
  ParameterPlan plan;
  plan.servers = options.servers;
  plan.type = options.dtype;
  plan.mode = options.asynchronous ? UpdateMode::asynchronous : UpdateMode::synchronous;
  if (context.job().size() <= plan.servers) {
    return context.skip(context.new_row(),
                        fmt::format("with --servers {} it needs {} ranks, so that one is a worker",
                                    plan.servers, plan.servers + 1));
  }
  for (const std::uint64_t asked : context.sizes()) {
    plan.count = asked / size_of(plan.type);
    for (const BufferKind kind : options.buffers) {
      Row row = describe_row(context, plan, asked, kind);
      if (plan.count == 0 && asked != 0) {
        context.skip(std::move(row),
                     fmt::format("no whole {} element in {} bytes", name(plan.type), asked));
        continue;
      }
      run_row(context, plan, kind, std::move(row));
    }
  }
}

}  // namespace

extern const Benchmark benchmark_ps{
    .name = "ps",
    .summary =
        "parameter servers: every worker pushes a gradient and pulls the parameters; last rank in "
        "to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "8:16M:x4",
    .collective = {},
    .fewest_ranks = 2,
    .run = run_parameter_server};

}  // namespace commtune
