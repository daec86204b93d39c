// Virtual times of collectives against closed forms of the alpha-beta model.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/reference.hpp"
#include "core/error.hpp"
#include "devices/host/work_rates.hpp"
#include "transports/job.hpp"

namespace commtune::test {
namespace {

constexpr double alpha_us = 1, beta_us = 1 / 12500.0;  ///< per message and per byte: 100G, 1us

/// One host per rank, and local work is free as in the closed forms.
std::string cluster(int ranks) { return fmt::format("cluster:{},100G,1us,work=free", ranks); }

Outcome simulate(const std::string& platform, int ranks, const std::function<void(Job&)>& body) {
  LaunchOptions options;
  options.transport = "sim";
  options.ranks = ranks;
  options.platform = platform;
  return run_job(options, [&](Job& job) {
    body(job);
    return 0;
  });
}

/// Runs the collective once on right data and returns its virtual time in us, on every rank.
double timed(Job& job, Collective collective, const char* algorithm, std::uint64_t count) {
  Call call{.collective = collective, .count = count};
  Buffer memory(job.transport, memory_bytes(call, job.size(), job.rank()));
  const CallMemory placed = place(call, memory.bytes(), job.size(), job.rank());
  fill_input(call, job.rank(), job.size(), 1, placed.input, placed.output);
  const auto operation =
      prepare(job.transport, find_algorithm(collective, algorithm, "test"), {}, call, {});
  job.bootstrap.barrier();
  const std::int64_t begin = job.transport.now_ns();
  operation->run();
  job.bootstrap.barrier();
  const std::int64_t end = job.transport.now_ns();
  if (check_output(call, job.rank(), job.size(), 1).wrong != 0) {
    fail(Errc::wrong_result, "{} with {} ranks is wrong", algorithm, job.size());
  }
  return static_cast<double>(end - begin) * 1e-3;
}

/// Every rank compares, since a rank in its own process cannot hand the time to the test.
void expect_time(const std::string& platform, int ranks, Collective collective,
                 const char* algorithm, std::uint64_t count, double low_us, double high_us) {
  const Outcome outcome = simulate(platform, ranks, [&](Job& job) {
    const double us = timed(job, collective, algorithm, count);
    if (us < low_us || us > high_us) {
      fail(Errc::wrong_result, "{} took {} us, expected {} to {} us", algorithm, us, low_us,
           high_us);
    }
  });
  EXPECT_EQ(outcome.status, 0) << platform << ", " << ranks << " ranks: " << outcome.reason;
}

class ClosedForm : public testing::Test {
 protected:
  void SetUp() override {
    for (const TransportInfo& info : transports()) {
      if (info.name == "sim" && !info.available) GTEST_SKIP() << info.reason;
    }
  }
  static constexpr double within = 0.02;
};

TEST_F(ClosedForm, of_ring_allreduce_is_met) {
  for (const int ranks : {2, 3, 8, 13, 64}) {
    const std::uint64_t count = 1680U * static_cast<std::uint64_t>(ranks);
    const double bytes = 4.0 * static_cast<double>(count);
    const double us = 2.0 * (ranks - 1) * (alpha_us + bytes / ranks * beta_us);
    expect_time(cluster(ranks), ranks, Collective::allreduce, "ring", count, us * (1 - within),
                us * (1 + within));
  }
}

TEST_F(ClosedForm, of_recursive_doubling_is_met) {
  for (const int ranks : {2, 8, 64}) {
    const double us = std::log2(ranks) * (alpha_us + 65536 * beta_us);
    expect_time(cluster(ranks), ranks, Collective::allreduce, "recursive_doubling", 16384,
                us * (1 - within), us * (1 + within));
  }
}

TEST_F(ClosedForm, of_a_direct_alltoall_is_met_by_a_torus_line_of_two) {
  const double us = alpha_us + 4096 * beta_us;
  expect_time("torus:2,100G,1us,work=free", 2, Collective::alltoall, "pairwise", 1024,
              us * (1 - within), us * (1 + within));
}

// All hosts of one leaf send to the other: a quarter of the up-links makes it four times as long.
TEST_F(ClosedForm, of_a_full_fat_tree_is_met_and_a_tapered_one_is_slower) {
  const double per_step = alpha_us * 2 + 65536 * beta_us;
  const auto exchange = [&](const char* platform, double low, double high) {
    const Outcome outcome = simulate(platform, 16, [&](Job& job) {
      std::vector<std::byte> out(65536), in(65536);
      struct Both final : Sink {
        int left = 2;
        void complete(std::uint32_t) noexcept override { --left; }
      } both;
      const Rank peer = (job.rank() + 8) % 16;
      job.bootstrap.barrier();
      const std::int64_t begin = job.transport.now_ns();
      job.transport.post_recv(peer, 0, in, {&both, 0});
      job.transport.post_send(peer, 0, out, {&both, 1});
      while (both.left > 0) job.transport.poll();
      job.bootstrap.barrier();
      const double us = static_cast<double>(job.transport.now_ns() - begin) * 1e-3;
      if (us < low || us > high) {
        fail(Errc::wrong_result, "took {} us, expected {} to {}", us, low, high);
      }
    });
    EXPECT_EQ(outcome.status, 0) << platform << ": " << outcome.reason;
  };
  exchange("fat-tree:2x8,100G,1us", per_step * (1 - within), per_step * (1 + within));
  exchange("fat-tree:2x8,100G,1us,taper=4", 3.5 * 65536 * beta_us, 4.5 * per_step);
}

// The same with a known price of work: gamma, once per byte and reduction.
TEST_F(ClosedForm, of_recursive_doubling_with_work_is_met_at_the_rates_of_this_machine) {
  const Outcome outcome = simulate("cluster:8,100G,1us", 8, [](Job& job) {
    const WorkRates* const rates = job.transport.work_rates();
    if (rates == nullptr) fail(Errc::wrong_result, "work is free");
    constexpr std::uint64_t count = 262'144;
    const double gamma_us = rates->reduce(DataType::float32, ReduceOp::sum) * 1e-3;
    if (gamma_us <= 0) fail(Errc::wrong_result, "a reduction takes {} us a byte", gamma_us);
    const double expected = 3 * (alpha_us + 4 * count * (beta_us + gamma_us));
    const double us = timed(job, Collective::allreduce, "recursive_doubling", count);
    if (std::abs(us - expected) > within * expected) {
      fail(Errc::wrong_result, "took {} us, expected {}", us, expected);
    }
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST_F(ClosedForm, short_work_is_on_the_clock_at_once_and_adds_up) {
  const Outcome outcome = simulate("", 2, [](Job& job) {
    const std::int64_t begin = job.transport.now_ns();
    for (int i = 1; i <= 1000; ++i) {
      job.transport.elapse(7);
      const std::int64_t passed = job.transport.now_ns() - begin;
      if (passed != 7 * i) fail(Errc::wrong_result, "{} ns passed in {} times 7 ns", passed, i);
    }
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST_F(ClosedForm, platform_with_too_few_hosts_is_refused) {
  const Outcome outcome = simulate("cluster:3,100G,1us", 4, [](Job&) {});
  EXPECT_EQ(outcome.status, exit_usage);
  EXPECT_NE(outcome.reason.find("3 hosts are too few for 4 ranks"), std::string::npos)
      << outcome.reason;
}

TEST_F(ClosedForm, every_rank_has_a_host_of_its_own) {
  const Outcome outcome = simulate("", 3, [](Job& job) {
    const auto hosts = allgather_string(job.bootstrap, job.host);
    if (hosts != std::vector<std::string>{"node0", "node1", "node2"}) {
      fail(Errc::wrong_result, "{} {} {}", hosts[0], hosts[1], hosts[2]);
    }
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST_F(ClosedForm, job_that_waits_for_ever_is_ended_with_the_transfer_named) {
  const Outcome outcome = simulate("", 3, [](Job& job) {
    std::vector<std::byte> in(8);
    struct Never final : Sink {
      bool done = false;
      void complete(std::uint32_t) noexcept override { done = true; }
    } never;
    if (job.rank() != 1) return;
    job.transport.post_recv(2, 5, in, {&never, 0});
    while (!never.done) job.transport.poll();
  });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_NE(outcome.reason.find("rank 1 waits for 1 transfers that never end, first from rank 2 on "
                                "lane 5"),
            std::string::npos)
      << outcome.reason;
}

}  // namespace
}  // namespace commtune::test
