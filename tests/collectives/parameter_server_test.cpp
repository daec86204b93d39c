// Parameter servers over every transport: exact results and clean ends.
#include <cstring>
#include <tuple>

#include "tests/collectives/parameter_work.hpp"

namespace commtune::test {
namespace {

/// Worker w pushes 8^w, so a pulled number tells how many pushes of each worker are in it: a shard
/// must be of one moment, with all of the worker's own pushes, and its version is their sum.
void check_asynchronous(Job& job, const ParameterPlan& plan, const Work& work, int step) {
  const int own = job.rank() - plan.servers;
  for (Rank server = 0; server < plan.servers; ++server) {
    const Shard shard = shard_of(plan, server);
    if (shard.count == 0) continue;
    const float first = work.parameters[shard.begin];
    for (std::size_t i = shard.begin; i < shard.begin + shard.count; ++i) {
      if (!(work.parameters[i] == first)) {
        wrong(job.rank(), "torn shard at", i, static_cast<double>(work.parameters[i]),
              static_cast<double>(first));
      }
    }
    std::uint64_t pushes = 0;
    auto digits = static_cast<std::uint64_t>(first);
    for (int worker = 0; worker < job.size() - plan.servers; ++worker, digits /= 8) {
      pushes += digits % 8;
      if (worker == own && digits % 8 != static_cast<std::uint64_t>(step)) {
        wrong(job.rank(), "own pushes at server", static_cast<std::size_t>(server),
              static_cast<double>(digits % 8), step);
      }
    }
    const std::uint64_t version = work.worker.versions()[static_cast<std::size_t>(server)];
    if (pushes != version || digits != 0) {
      wrong(job.rank(), "version of server", static_cast<std::size_t>(server),
            static_cast<double>(version), static_cast<double>(pushes));
    }
  }
}

void run_asynchronous(Job& job, const ParameterPlan& plan) {
  const int workers = job.size() - plan.servers;
  if (job.rank() < plan.servers) {
    ParameterServer server(job.transport, plan);
    server.run(static_cast<std::uint64_t>(workers * steps));
    job.bootstrap.barrier();
    server.run();
    return;
  }
  Work work(job.transport, plan);
  std::ranges::fill(work.gradient, static_cast<float>(1 << (3 * (job.rank() - plan.servers))));
  for (int step = 1; step <= steps; ++step) {
    work.worker.exchange();
    check_asynchronous(job, plan, work, step);
  }
  job.bootstrap.barrier();
  work.worker.pull().run();
  for (const std::uint64_t version : work.worker.versions()) {
    if (version != static_cast<std::uint64_t>(workers * steps)) {
      wrong(job.rank(), "last version", 0, static_cast<double>(version), workers * steps);
    }
  }
  check_asynchronous(job, plan, work, steps);
  work.worker.stop().run();
}

/// Every count and mode with `servers` servers, one after another over the same lanes.
void run_all(Job& job, Rank servers) {
  const auto s = static_cast<std::uint64_t>(servers);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, s - 1, s, s + 1,
                                    std::uint64_t{1000}, std::uint64_t{50'001}}) {
    job.monitor.beat(count);
    ParameterPlan plan{.servers = servers, .count = count};
    run_synchronous(job, plan);
    plan.mode = UpdateMode::asynchronous;
    run_asynchronous(job, plan);
  }
}

class ParameterServers : public testing::TestWithParam<std::tuple<const char*, int, int>> {};

TEST_P(ParameterServers, give_every_worker_the_exact_parameters) {
  const auto [transport, servers, workers] = GetParam();
  const std::string missing = transport_missing(transport);
  if (!missing.empty()) GTEST_SKIP() << missing;
  expect_job(transport, servers + workers, [servers = servers](Job& job) {
    run_all(job, servers);
    job.bootstrap.barrier();
  });
}

std::string case_name(const testing::TestParamInfo<std::tuple<const char*, int, int>>& info) {
  const auto [transport, servers, workers] = info.param;
  return fmt::format("{}_{}_servers_{}_workers", transport, servers, workers);
}
INSTANTIATE_TEST_SUITE_P(Local, ParameterServers,
                         testing::Combine(testing::Values("shm", "threads", "sim"),
                                          testing::Values(1, 2, 3), testing::Values(1, 2, 3, 5)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Runtimes, ParameterServers,
                         testing::Combine(testing::Values("ucx", "grpc"), testing::Values(1, 2, 3),
                                          testing::Values(1, 2, 3, 5)),
                         case_name);

TEST(ParameterServer, gives_the_exact_parameters_over_mpi) {
  const std::string missing = mpi_missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  const Outcome outcome = run_mpi(4, [](Job& job) {
    run_all(job, 1);
    run_all(job, 2);
    job.bootstrap.barrier();
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST(ParameterServer, shards_are_consecutive_and_even) {
  for (const Rank servers : {1, 2, 3, 7}) {
    for (const std::uint64_t count : {0U, 1U, 6U, 7U, 8U, 1000U}) {
      const ParameterPlan plan{.servers = servers, .count = count};
      std::uint64_t next = 0;
      for (Rank server = 0; server < servers; ++server) {
        const Shard shard = shard_of(plan, server);
        EXPECT_EQ(shard.begin, next);
        EXPECT_LE(shard.count, shard_of(plan, 0).count);
        EXPECT_LE(shard_of(plan, 0).count, shard.count + 1);
        next += shard.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ParameterServer, serves_every_data_type) {
  expect_job("shm", 3, [](Job& job) {
    for (const DataType type : all_data_types()) {
      const ParameterPlan plan{.servers = 1, .count = 65, .type = type};
      Call sum{.count = plan.count, .type = type};
      std::vector<std::byte> gradient(plan.count * size_of(type)), parameters(gradient.size());
      sum.input = gradient;
      sum.output = parameters;
      if (job.rank() == 0) {
        ParameterServer(job.transport, plan).run();
        continue;
      }
      fill_input(sum, job.rank() - 1, 2, 5, gradient, parameters);
      ParameterWorker worker(job.transport, plan, gradient, parameters);
      worker.exchange();
      const CheckResult check = check_output(sum, job.rank() - 1, 2, 5);
      if (check.wrong != 0) fail(Errc::wrong_result, "{}: {} wrong", name(type), check.wrong);
      worker.stop().run();
    }
    job.bootstrap.barrier();
  });
}

TEST(ParameterServer, begins_with_the_parameters_that_were_written) {
  expect_job("threads", 2, [](Job& job) {
    const ParameterPlan plan{.servers = 1, .count = 3};
    if (job.rank() == 0) {
      ParameterServer server(job.transport, plan);
      const float initial[3] = {5, 6, 7};
      std::memcpy(server.parameters().data(), initial, sizeof(initial));
      server.run();
      return;
    }
    Work work(job.transport, plan);
    work.worker.pull().run();
    if (work.parameters != std::vector<float>{5, 6, 7}) fail(Errc::wrong_result, "not initial");
    work.gradient = {1, 1, 1};
    work.worker.exchange();
    if (work.parameters != std::vector<float>{6, 7, 8}) fail(Errc::wrong_result, "not updated");
    work.worker.stop().run();
  });
}

TEST(ParameterServer, refuses_plans_without_a_worker_and_the_wrong_role) {
  const auto reason_of = [](const ParameterPlan& plan) {
    try {
      check_plan(plan, 2);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(reason_of({.servers = 1}), "");
  EXPECT_EQ(reason_of({.servers = 2}),
            "parameter server: 2 servers of 2 ranks leave no worker; use at most 1");
  EXPECT_EQ(reason_of({.servers = 0}),
            "parameter server: 0 servers; at least one must keep the parameters");
  EXPECT_EQ(reason_of({.servers = 1, .first_lane = lane_count - 1}),
            "parameter server: lanes 31 and 32 of 32");
  const auto outcome_of = [](const std::function<void(Job&)>& body) {
    LaunchOptions options;
    options.transport = "threads";
    return run_job(options, [&](Job& job) {
      body(job);
      return 0;
    });
  };
  const Outcome server = outcome_of([](Job& job) {
    if (job.rank() == 1) ParameterServer(job.transport, {.servers = 1});
    job.bootstrap.barrier();
  });
  EXPECT_EQ(server.reason, "rank 1: rank 1 is a worker: servers are ranks 0 to 0");
  const Outcome worker = outcome_of([](Job& job) {
    if (job.rank() == 1) ParameterWorker(job.transport, {.servers = 1, .count = 1}, {}, {});
    job.bootstrap.barrier();
  });
  EXPECT_EQ(worker.reason,
            "rank 1: parameter server: 0 bytes of gradient and 0 of parameters, the plan has 4");
}

}  // namespace
}  // namespace commtune::test
