#include "microbench/session.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "microbench/context.hpp"

namespace commtune {
namespace {

/// The options that decide what is transferred, by the name a user knows them under.
Json transfer_plan(const BenchPlan& plan) {
  const RunOptions& options = plan.options;
  Json tests = Json::array();
  for (const Benchmark* benchmark : plan.benchmarks) tests.push_back(benchmark->name);
  Json buffers = Json::array();
  for (const BufferKind kind : options.buffers) buffers.push_back(name(kind));
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"TEST", tests},
          {"--sizes", options.sizes},
          {"--algorithm", options.algorithms},
          {"--dtype", name(options.dtype)},
          {"--op", name(options.op)},
          {"--root", options.rotate_root ? Json("rotate") : Json(options.root)},
          {"--in-place", options.in_place},
          {"--device", options.device},
          {"--iterations", or_null(options.sampling.iterations)},
          {"--warmup", or_null(options.sampling.warmup)},
          {"--time-limit", options.sampling.time_limit_s},
          {"--confidence", options.sampling.confidence},
          {"--precision", options.sampling.precision},
          {"--check", options.check},
          {"--cold", options.cold},
          {"--servers", options.servers},
          {"--asynchronous", options.asynchronous},
          {"--buffers", buffers},
          {"--seed", options.seed},
          {"--table", options.table.string()}};
}

/// Collective. A rank started with other options would wait for transfers that never come.
void agree_on_plan(Bootstrap& bootstrap, const BenchPlan& plan) {
  const std::string mine = transfer_plan(plan).dump();
  const auto digests = allgather_value(bootstrap, std::hash<std::string>{}(mine));
  if (std::count(digests.begin(), digests.end(), digests[0]) ==
      static_cast<std::ptrdiff_t>(digests.size())) {
    return;
  }
  const auto texts = allgather_string(bootstrap, mine);
  std::string differences;
  const Json first = parse_json(texts[0], "plan of rank 0");
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    const Json other = parse_json(texts[rank], "plan of another rank");
    for (const auto& [key, value] : other.items()) {
      if (first.value(key, Json()) == value) continue;
      differences +=
          fmt::format("{}rank {} has {} {}, rank 0 has {}", differences.empty() ? "" : "; ", rank,
                      key, value.dump(), first.value(key, Json()).dump());
    }
    if (differences.size() > 400) break;
  }
  require(differences.empty(),
          "ranks were started with different options: {}; start all ranks with the same command",
          differences);
}

}  // namespace

int run_benchmarks(Job& job, const BenchPlan& plan, std::ostream& out) {
  job.monitor.describe("agreement", 0);
  job.monitor.enter(Phase::setup);
  agree_on_plan(job.bootstrap, plan);
  BenchContext context(job, plan, out);
  try {
    for (const Benchmark* benchmark : plan.benchmarks) context.run(*benchmark);
    return context.finish();
  } catch (const Error& error) {
    // The process that supervises the job knows better why a peer is gone; without one, rank 0 is
    // the last that can tell.
    if (error.code() != Errc::peer || !launcher_environment().kind.empty()) {
      context.finish_failed(error.what());
    }
    throw;
  }
}

}  // namespace commtune
