// Time to write one rank's program, and to write and verify those of all ranks.
#include <benchmark/benchmark.h>

#include "collectives/schedule/verify.hpp"

namespace commtune {
namespace {

struct Subject {
  Collective collective;
  const char* algorithm;
  std::uint32_t segments;
};
constexpr Subject subjects[] = {
    {Collective::allreduce, "ring", 1},         {Collective::allreduce, "ring", 4},
    {Collective::allreduce, "rabenseifner", 1}, {Collective::allreduce, "recursive_doubling", 1},
    {Collective::allgather, "direct", 1},       {Collective::alltoall, "pairwise", 1},
    {Collective::alltoall, "bruck", 1},
};

const Algorithm& algorithm_of(const Subject& subject) {
  return find_algorithm(subject.collective, subject.algorithm, "schedule benchmark");
}

void generate_time(benchmark::State& state, const Subject& subject) {
  const auto size = static_cast<Rank>(state.range(0));
  const Algorithm& algorithm = algorithm_of(subject);
  const Shape shape{.rank = size / 2, .size = size};
  const Params params{.segments = subject.segments};
  std::size_t steps = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const Schedule schedule = algorithm.generate(shape, params);
    steps = schedule.steps.size();
    benchmark::DoNotOptimize(schedule.steps.data());
  }
  state.counters["steps"] = static_cast<double>(steps);
}

void verify_time(benchmark::State& state, const Subject& subject) {
  const Algorithm& algorithm = algorithm_of(subject);
  const Shape shape{.size = static_cast<Rank>(state.range(0))};
  const Params params{.segments = subject.segments};
  for ([[maybe_unused]] auto iteration : state) {
    if (const auto violation = verify(algorithm, shape, params)) {
      state.SkipWithError(violation->detail.c_str());
    }
  }
}

bool register_schedules() {
  for (const Subject& subject : subjects) {
    std::string title =
        std::string(name(subject.collective)) + "/" + std::string(subject.algorithm);
    if (subject.segments > 1) title += "/segments=" + std::to_string(subject.segments);
    benchmark::RegisterBenchmark(("generate/" + title).c_str(), generate_time, subject)
        ->Arg(64)
        ->Arg(1024)
        ->Arg(4096)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("verify/" + title).c_str(), verify_time, subject)
        ->Arg(16)
        ->Arg(64)
        ->Arg(256)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}

[[maybe_unused]] const bool registered = register_schedules();

}  // namespace
}  // namespace commtune
