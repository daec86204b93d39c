// Every algorithm on the local transports: odd rank counts, counts around the number of ranks,
// every data type and operator, both placements, every root.
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

TEST_P(Algorithms, are_right_for_every_count_and_placement) {
  run([](Job& job) {
    const auto size = static_cast<std::uint64_t>(job.size());
    for (const Algorithm* algorithm : algorithms()) {
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, size - 1, size,
                                        size + 1, std::uint64_t{1000}, std::uint64_t{70001}}) {
        for (const bool in_place : {false, true}) {
          if (algorithm->collective == Collective::barrier && (count != 0 || in_place)) continue;
          check_one(job, *algorithm,
                    {.collective = algorithm->collective, .count = count, .in_place = in_place}, {},
                    {});
        }
      }
    }
  });
}

TEST_P(Algorithms, are_right_for_every_type_and_operator) {
  run([](Job& job) {
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->collective == Collective::barrier) continue;
      for (const DataType type : all_data_types()) {
        for (const ReduceOp op : all_reduce_ops()) {
          if (!reduces(algorithm->collective) && op != ReduceOp::sum) continue;
          check_one(job, *algorithm,
                    {.collective = algorithm->collective, .count = 37, .type = type, .op = op}, {},
                    {});
        }
      }
    }
  });
}

TEST_P(Algorithms, are_right_for_every_root) {
  run([](Job& job) {
    for (const Algorithm* algorithm : algorithms()) {
      if (!rooted(algorithm->collective)) continue;
      for (Rank root = 0; root < job.size(); ++root) {
        for (const bool in_place : {false, true}) {
          check_one(job, *algorithm,
                    {.collective = algorithm->collective,
                     .count = 101,
                     .root = root,
                     .in_place = in_place},
                    {}, {});
        }
      }
    }
  });
}

TEST_P(Algorithms, are_right_in_waves_segments_and_narrow_windows) {
  run([](Job& job) {
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->collective == Collective::barrier) continue;
      for (const std::uint64_t wave_bytes :
           {std::uint64_t{4}, std::uint64_t{400}, std::uint64_t{4096}}) {
        for (const std::uint32_t window : {1U, 2U}) {
          for (const std::uint32_t waves : {1U, 3U}) {
            const Limits limits{.window = window,
                                .waves_in_flight = waves,
                                .wave_bytes = wave_bytes,
                                .first_lane = 5};
            check_one(job, *algorithm,
                      {.collective = algorithm->collective,
                       .count = wave_bytes == 4 ? std::uint64_t{53} : std::uint64_t{1003},
                       .op = ReduceOp::avg},
                      {.segments = 3}, limits);
          }
        }
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
                         testing::Values(Setting{"threads", 1}, Setting{"threads", 2},
                                         Setting{"threads", 3}, Setting{"threads", 5},
                                         Setting{"shm", 1}, Setting{"shm", 2}, Setting{"shm", 3},
                                         Setting{"shm", 7}, Setting{"shm", 8}),
                         [](const auto& setting) {
                           return setting.param.transport + "_" +
                                  std::to_string(setting.param.ranks);
                         });

}  // namespace
}  // namespace commtune::test
