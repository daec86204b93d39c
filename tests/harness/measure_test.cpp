#include "harness/measure.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "core/error.hpp"
#include "core/topology.hpp"
#include "harness/sampling.hpp"
#include "on_ranks.hpp"

namespace commtune {
namespace {

constexpr int rank_counts[] = {1, 2, 3};

/// Every rank must hold the same series, bit for bit.
void check_identical(Job& job, const Series& series) {
  std::string text(reinterpret_cast<const char*>(series.samples_us.data()),
                   series.samples_us.size() * sizeof(double));
  text += fmt::format("{} {} ", series.first_call_us, series.entry_skew_us);
  for (const Iteration& each : series.iterations) {
    text += fmt::format("{} {} {} {} {} ", each.first_in_ns, each.last_in_ns, each.last_out_ns,
                        each.last_in_rank, each.last_out_rank);
  }
  for (const std::string& flag : series.flags) text += flag + " ";
  for (const std::string& other : allgather_string(job.bootstrap, text)) {
    check(other == text, "ranks hold different series");
  }
}

TEST(OnRanks, notices_ranks_that_hold_different_series) {
  const Outcome outcome = outcome_of(3, [](Job& job) {
    Series series;
    series.samples_us = {1.0, job.rank() == 2 ? 2.5 : 2.0};
    check_identical(job, series);
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_NE(outcome.reason.find("different series"), std::string::npos) << outcome.reason;
}

TEST(SyncBarrier, nobody_leaves_before_everybody_entered) {
  for (const int ranks : {1, 2, 3, 5}) {
    on_ranks(ranks, [](Job& job) {
      SyncBarrier barrier(job.transport);
      for (int round = 0; round < 100; ++round) {
        const std::int64_t entered = job.transport.now_ns();
        barrier.wait();
        const std::int64_t left = job.transport.now_ns();
        const auto entries = allgather_value(job.bootstrap, entered);
        check(*std::max_element(entries.begin(), entries.end()) <= left, "left too early");
      }
    });
  }
}

TEST(MeasureCollective, takes_exactly_the_iterations_that_were_asked) {
  for (const int ranks : rank_counts) {
    for (const std::uint64_t iterations : {1U, 7U, 65U}) {
      on_ranks(ranks, [&](Job& job) {
        SamplingOptions options;
        ClockMap clocks(job.size());
        options.iterations = iterations;
        options.warmup = 5;
        std::uint64_t next = 0, calls = 0;
        const Series series = measure_collective(
            job, clocks, options,
            [&](std::uint64_t i) { check(i == next++, "before() skipped a call"); },
            [&] { ++calls; });
        check(series.samples_us.size() == iterations, "wrong number of samples");
        check(calls == next && calls >= 5 + iterations, "wrong number of calls");
        check_identical(job, series);
        const bool few = std::find(series.flags.begin(), series.flags.end(), "few_samples") !=
                         series.flags.end();
        check(few == (iterations < 20), "few_samples is wrong");
      });
    }
  }
}

TEST(Measure, long_fixed_runs_are_run_in_full_and_keep_a_bounded_number_of_samples) {
  on_ranks(1, [](Job& job) {
    SamplingOptions options;
    ClockMap clocks(job.size());
    options.iterations = 200'001;
    options.warmup = 1;
    std::uint64_t calls = 0;
    const Series whole = measure_collective(job, clocks, options, {}, [&calls] { ++calls; });
    check(calls > 200'001, "too few calls");
    const Series pattern = measure_pattern(job, options, [](std::uint64_t) {});
    for (const Series& series : {whole, pattern}) {
      check(series.samples_us.size() == 66'667, "not every third sample");
      check(std::count(series.flags.begin(), series.flags.end(), "samples_capped") == 1,
            "not flagged");
    }
  });
}

TEST(MeasureCollective, adaptive_runs_agree_when_to_stop) {
  for (const int ranks : rank_counts) {
    on_ranks(ranks, [](Job& job) {
      SamplingOptions options;
      ClockMap clocks(job.size());
      options.time_limit_s = 0.05;
      SyncBarrier barrier(job.transport);
      const Series series = measure_collective(job, clocks, options, {}, [&] { barrier.wait(); });
      check(!series.samples_us.empty(), "no samples");
      check_identical(job, series);
    });
  }
}

TEST(MeasureCollective, first_call_stays_out_of_the_samples) {
  on_ranks(1, [](Job& job) {
    SamplingOptions options;
    ClockMap clocks(job.size());
    options.iterations = 30;
    options.warmup = 1;
    std::uint64_t calls = 0;
    const Series series = measure_collective(job, clocks, options, {}, [&] {
      if (calls++ != 0) return;
      const std::int64_t until = job.transport.now_ns() + 20'000'000;
      while (job.transport.now_ns() < until) {
      }
    });
    check(series.first_call_us >= 20'000, "the first call lost its cost");
    check(*std::min_element(series.samples_us.begin(), series.samples_us.end()) < 20'000,
          "the first call is a sample");
  });
}

TEST(MeasureCollective, late_entry_is_skew_and_not_time) {
  on_ranks(3, [](Job& job) {
    SamplingOptions options;
    ClockMap clocks(job.size());
    options.iterations = 5;
    options.warmup = 1;
    SkewedClock shifted(job.transport, {job.rank() == 2 ? 3'000'000'000 : 0, 0});
    Job late{job.bootstrap, shifted, job.monitor, {}};
    const Series series = measure_collective(late, clocks, options, {}, [] {});
    check(series.entry_skew_us > 2e6, "skew is missing");
    const Latest latest = most_often(series.iterations, &Iteration::last_in_rank);
    check(latest.rank == 2 && latest.share == 1, "another straggler");
    check(std::find(series.flags.begin(), series.flags.end(), "entry_skew") != series.flags.end(),
          "entry_skew is not flagged");
    check_identical(job, series);
  });
}

TEST(MeasureCollective, refuses_zero_iterations) {
  on_ranks(1, [](Job& job) {
    SamplingOptions options;
    ClockMap clocks(job.size());
    options.iterations = 0;
    try {
      measure_collective(job, clocks, options, {}, [] {});
    } catch (const Error& error) {
      check(error.code() == Errc::usage, "wrong kind of error");
      return;
    }
    fail(Errc::wrong_result, "accepted");
  });
}

TEST(MeasurePattern, repeats_are_the_same_on_all_ranks_and_divide_the_time) {
  for (const int ranks : rank_counts) {
    on_ranks(ranks, [](Job& job) {
      SamplingOptions options;
      options.iterations = 25;
      options.warmup = 2;
      std::uint64_t last = 0;
      const Series series = measure_pattern(job, options, [&](std::uint64_t repeats) {
        last = repeats;
        for (std::uint64_t i = 0; i < repeats; ++i) job.transport.now_ns();
      });
      check(series.samples_us.size() == 25, "wrong number of samples");
      check(allgather_value(job.bootstrap, last).front() == last, "ranks repeat differently");
      check(last > 1, "one clock read was long enough");
      check_identical(job, series);
    });
  }
}

TEST(MachineProbe, fills_the_row_on_rank_zero_only) {
  on_ranks(3, [](Job& job) {
    MachineProbe probe(job);
    Row row;
    probe.sample(row, 0);
    probe.sample(row, 1);
    const bool filled = row.machine.copy_gbs[0].has_value() && row.machine.copy_gbs[1].has_value();
    check(filled == (job.rank() == 0), "wrong ranks measured");
    check(row.machine.steal >= 0 && row.machine.steal <= 1, "steal is not a share");
  });
}

TEST(DescribeRun, counts_the_processors_of_all_ranks_and_keeps_the_warnings) {
  const std::vector<int> allowed = discover_topology().allowed;
  LaunchOptions launch;
  launch.transport = "shm";
  launch.ranks = 3;
  const Outcome outcome = run_job(launch, [&allowed](Job& job) {
    bind_to_processor(allowed[static_cast<std::size_t>(job.rank()) % allowed.size()]);
    RunOptions options;
    options.warnings = {"--op has no effect on broadcast"};
    const Json run = describe_run(job, options, ClockMap(3));
    if (job.rank() != 0) return 0;
    check(run["topology"]["allowed_processors"] == std::min<std::size_t>(3, allowed.size()),
          run["topology"].dump());
    check(run["warnings"] == Json(options.warnings), run["warnings"].dump());
    check(!run["ranks"][0].contains("allowed"), run["ranks"].dump());
    return 0;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST(DescribeRun, lists_every_rank_and_survives_printing) {
  on_ranks(3, [](Job& job) {
    RunOptions options;
    options.argv = {"commtune", "bench", "allreduce"};
    options.seed = 7;
    options.label = "nightly";
    const Json run = describe_run(job, options, ClockMap({0, 0, 2}, {{}, {}, {10, 5000, 1499}}));
    if (job.rank() != 0) return;
    check(run["ranks"].size() == 3, "a rank is missing");
    for (std::size_t r = 0; r < 3; ++r) {
      const Json& rank = run["ranks"][r];
      check(rank["rank"] == r && rank["gpu"].is_null() && rank["pid"] > 0, rank.dump());
      check(rank["host"] == run["hosts"][0] && !rank["cpuset"].empty(), rank.dump());
    }
    check(run["hosts"].size() == 1 && run["argv"] == options.argv, run.dump());
    check(run["seed"] == 7 && run["label"] == "nightly" && run["clock_error_us"] == 1.5,
          run.dump());
    check(run["clocks"].size() == 1 && run["clocks"][0]["rank"] == 2 &&
              run["clocks"][0]["host"] == run["hosts"][0] && run["clocks"][0]["offset_us"] == 5.0,
          run["clocks"].dump());
    check(run["transport"]["name"] == "threads" && run["library"].is_null(), run.dump());
    check(run["started"].get<std::string>().size() == 20, run.dump());
    check(parse_json(run.dump(), "run") == run, "does not survive printing");
  });
}

}  // namespace
}  // namespace commtune
