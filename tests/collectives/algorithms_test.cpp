// Every algorithm in waves and narrow windows, and operations in flight together. The other axes
// are in matrix_test.cpp.
#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

struct Setting {
  std::string transport;
  int ranks;
};

class Algorithms : public testing::TestWithParam<Setting> {
 protected:
  void run(const std::function<void(Job&)>& body) {
    expect_job(GetParam().transport, GetParam().ranks, body);
  }
};

void check_one(Job& job, const Algorithm& algorithm, const Call& call, const Params& params,
               const Limits& limits) {
  const Shape shape{job.rank(), job.size(), call.root, call.in_place};
  if (!refusal(algorithm, shape, params).empty()) return;
  const bool scans = call.collective == Collective::scan || call.collective == Collective::exscan;
  if (scans && call.op == ReduceOp::avg) return;
  CallBuffers buffers(job.transport, call);
  const auto operation = prepare(job.transport, algorithm, params, buffers.call, limits);
  const std::string what = text_of(call, algorithm.name, job.size());
  job.monitor.describe(algorithm.name, call.count);
  job.monitor.beat(call.count);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    run_and_check(job, buffers, *operation, what, seed);
  }
}

TEST_P(Algorithms, are_right_in_waves_segments_and_narrow_windows) {
  run([](Job& job) {
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->collective == Collective::barrier) continue;
      struct Cut {
        std::uint64_t wave_bytes, count;
        std::uint32_t window, waves;
      };
      for (const Cut cut : {Cut{4, 19, 1, 3}, Cut{400, 1003, 2, 1}, Cut{4096, 1003, 1, 2}}) {
        const Limits limits{.window = cut.window,
                            .waves_in_flight = cut.waves,
                            .wave_bytes = cut.wave_bytes,
                            .first_lane = 5};
        check_one(job, *algorithm,
                  {.collective = algorithm->collective, .count = cut.count, .op = ReduceOp::avg},
                  {.segments = 3}, limits);
      }
    }
  });
}

TEST_P(Algorithms, of_concurrent_operations_do_not_mix) {
  run([](Job& job) {
    const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
    std::vector<CallBuffers> buffers;
    std::vector<std::unique_ptr<Operation>> operations;
    buffers.reserve(5);
    for (std::uint64_t i = 0; i < 5; ++i) {
      buffers.emplace_back(job.transport, Call{.count = 5000 * (i + 1)});
      operations.push_back(prepare(job.transport, ring, {}, buffers.back().call,
                                   {.first_lane = static_cast<Lane>(2 * i)}));
      fill_input(buffers[i].call, job.rank(), job.size(), i, buffers[i].input, buffers[i].output);
    }
    job.bootstrap.barrier();
    // Ranks start and drive the operations in different orders.
    for (std::size_t i = 0; i < 5; ++i) {
      operations[(i + static_cast<std::size_t>(job.rank())) % 5]->start();
    }
    for (std::size_t left = 5, at = 0; left != 0; ++at) {
      left = 0;
      for (std::size_t i = 0; i < 5; ++i) left += operations[(i + at) % 5]->progress() ? 0 : 1;
    }
    for (std::size_t i = 0; i < 5; ++i) {
      const CheckResult check = check_output(buffers[i].call, job.rank(), job.size(), i);
      if (check.wrong != 0) fail(Errc::wrong_result, "operation {}: {} wrong", i, check.wrong);
    }
    job.bootstrap.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Local, Algorithms,
                         testing::Values(Setting{"threads", 2}, Setting{"threads", 3},
                                         Setting{"shm", 1}, Setting{"shm", 2}, Setting{"shm", 5}),
                         [](const auto& setting) {
                           return setting.param.transport + "_" +
                                  std::to_string(setting.param.ranks);
                         });

}  // namespace
}  // namespace commtune::test
