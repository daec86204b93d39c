#pragma once
#include "collectives/parameter_server/server.hpp"
#include "collectives/parameter_server/worker.hpp"
#include "tests/collectives/fixture.hpp"

namespace commtune::test {

inline constexpr int steps = 3;

inline std::string transport_missing(const std::string& transport) {
  for (const TransportInfo& info : transports()) {
    if (info.name == transport && !info.available) return info.reason;
  }
  return {};
}

/// A worker with its memory.
struct Work {
  Work(Transport& transport, const ParameterPlan& plan)
      : gradient(plan.count),
        parameters(plan.count, -1),
        worker(transport, plan, std::as_bytes(std::span(gradient)),
               std::as_writable_bytes(std::span(parameters))) {}
  std::vector<float> gradient, parameters;
  ParameterWorker worker;
};

/// What worker `rank` pushes as element i in `step`: differs by each, sums stay exact.
inline float gradient_of(Rank rank, int step, std::size_t i) {
  return static_cast<float>(rank * 31 + step * 7) + static_cast<float>(i % 97) - 48;
}

inline void wrong(Rank rank, const char* what, std::size_t index, double got, double expected) {
  fail(Errc::wrong_result, "worker {}: {} {} is wrong: {}, expected {}", rank, what, index, got,
       expected);
}

/// After step k every parameter is the sum of all gradients up to step k, at every worker.
inline void check_synchronous(Job& job, const ParameterPlan& plan, Work& work, int step) {
  for (std::size_t i = 0; i < work.parameters.size(); ++i) {
    float expected = 0;
    for (int s = 1; s <= step; ++s) {
      for (Rank rank = plan.servers; rank < job.size(); ++rank) expected += gradient_of(rank, s, i);
    }
    if (!(work.parameters[i] == expected)) {
      wrong(job.rank(), "parameter", i, static_cast<double>(work.parameters[i]),
            static_cast<double>(expected));
    }
  }
  for (std::size_t server = 0; server < work.worker.versions().size(); ++server) {
    const auto version = static_cast<int>(work.worker.versions()[server]);
    if (version != step) wrong(job.rank(), "version of server", server, version, step);
  }
}

inline void run_synchronous(Job& job, const ParameterPlan& plan) {
  if (job.rank() < plan.servers) {
    ParameterServer server(job.transport, plan);
    server.run();
    const auto version = static_cast<int>(server.version());
    if (version != steps) wrong(job.rank(), "own version", 0, version, steps);
    return;
  }
  Work work(job.transport, plan);
  for (int step = 1; step <= steps; ++step) {
    for (std::size_t i = 0; i < work.gradient.size(); ++i) {
      work.gradient[i] = gradient_of(job.rank(), step, i);
    }
    work.worker.exchange();
    check_synchronous(job, plan, work, step);
  }
  work.worker.stop().run();
}

}  // namespace commtune::test
