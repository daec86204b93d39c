// Operations that are started again and again, driven in pieces and several at a time.
#include <algorithm>
#include <deque>
#include <sched.h>

#include "tests/collectives/cases.hpp"
#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

void check(Job& job, const CallBuffers& buffers, const std::string& what, std::uint64_t seed) {
  const CheckResult found = check_output(buffers.call, job.rank(), job.size(), seed);
  if (found.wrong == 0) return;
  fail(Errc::wrong_result, "{}, seed {}: element {} is {}, expected {}", what, seed,
       found.first_index, found.got, found.expected);
}

/// The first algorithms of every collective.
std::vector<const Algorithm*> some_algorithms(Rank size) {
  std::vector<const Algorithm*> some;
  for (const Algorithm* each : algorithms()) {
    if (each->collective == Collective::barrier) continue;
    if (!refusal(*each, {0, size, 0, false}, {}).empty()) continue;
    const auto had = std::count_if(some.begin(), some.end(), [&](const Algorithm* other) {
      return other->collective == each->collective;
    });
    if (had < 3) some.push_back(each);
  }
  return some;
}

class LifeCycle : public testing::TestWithParam<std::string> {};

TEST_P(LifeCycle, restarts_a_hundred_times_with_new_data) {
  expect_job(GetParam(), 3, [](Job& job) {
    for (const Algorithm* algorithm : some_algorithms(job.size())) {
      CallBuffers buffers(job.transport, {.collective = algorithm->collective, .count = 61});
      const auto operation = prepare(job.transport, *algorithm, {}, buffers.call,
                                     {.waves_in_flight = 3, .wave_bytes = 80});
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        job.monitor.beat(seed);
        fill_input(buffers.call, job.rank(), job.size(), seed, buffers.input, buffers.output);
        operation->run();
        check(job, buffers, text_of(buffers.call, algorithm->name, job.size()), seed);
      }
    }
  });
}

TEST_P(LifeCycle, of_many_operations_at_once_does_not_mix) {
  expect_job(GetParam(), 4, [](Job& job) {
    constexpr Lane lanes_each = 2;
    const auto all = some_algorithms(job.size());
    std::deque<CallBuffers> buffers;
    std::vector<std::unique_ptr<Operation>> operations;
    for (std::size_t i = 0; i < lane_count / lanes_each; ++i) {
      const Algorithm& algorithm = *all[i * 7 % all.size()];
      buffers.emplace_back(
          job.transport,
          Call{.collective = algorithm.collective, .count = 40 * i + 3, .type = DataType::int16});
      operations.push_back(prepare(job.transport, algorithm, {}, buffers.back().call,
                                   {.waves_in_flight = lanes_each,
                                    .wave_bytes = 100,
                                    .first_lane = static_cast<Lane>(i) * lanes_each}));
    }
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      for (const CallBuffers& each : buffers) {
        fill_input(each.call, job.rank(), job.size(), seed, each.input, each.output);
      }
      const std::size_t n = operations.size(), mine = static_cast<std::size_t>(job.rank());
      // Each rank starts and drives them in an order of its own, some before others are started.
      for (std::size_t i = 0; i < n; ++i) {
        operations[(i * 5 + mine * 3) % n]->start();
        operations[(i / 2 * 5 + mine * 3) % n]->progress();
      }
      for (std::size_t left = n; left != 0;) {
        left = 0;
        for (const auto& operation : operations) left += operation->progress() ? 0U : 1U;
        sched_yield();
      }
      for (const CallBuffers& each : buffers) check(job, each, "several at once", seed);
    }
  });
}

TEST_P(LifeCycle, ends_once_and_stays_complete) {
  expect_job(GetParam(), 2, [](Job& job) {
    CallBuffers buffers(job.transport, {.count = 1000});
    const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
    const auto operation = prepare(job.transport, ring, {}, buffers.call);
    if (!operation->progress()) fail(Errc::wrong_result, "incomplete before it was started");
    fill_input(buffers.call, job.rank(), job.size(), 1, buffers.input, buffers.output);
    operation->start();
    while (!operation->progress()) sched_yield();
    for (int i = 0; i < 3; ++i) {
      if (!operation->progress()) fail(Errc::wrong_result, "incomplete after its end");
    }
    check(job, buffers, "ring", 1);
  });
}

TEST_P(LifeCycle, refuses_a_second_start_before_the_end) {
  LaunchOptions options;
  options.transport = GetParam();
  options.ranks = 2;
  const Outcome outcome = run_job(options, [](Job& job) {
    CallBuffers buffers(job.transport, {.count = 1000});
    const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
    const auto operation = prepare(job.transport, ring, {}, buffers.call);
    if (job.rank() == 0) {
      operation->start();
      operation->start();
    } else {
      while (true) job.transport.poll();
    }
    return 0;
  });
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_NE(outcome.reason.find("before it completed"), std::string::npos) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Local, LifeCycle, testing::Values("threads", "shm"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace commtune::test
