#include "conformance.hpp"

#include <gtest/gtest.h>
#include <tuple>

#include "jobs.hpp"

namespace commtune::test {
namespace {

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto& group :
       {message_checks(), order_checks(), set_up_checks(), view_checks(), one_sided_checks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

/// The same transport by another path: what an environment variable chooses.
class Variant {
 public:
  explicit Variant(const std::string& text) : variable_(text.substr(0, text.find('='))) {
    setenv(variable_.c_str(), text.substr(variable_.size() + 1).c_str(), 1);
  }
  ~Variant() { unsetenv(variable_.c_str()); }
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

 private:
  std::string variable_;
};

class Conformance : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void SetUp() override {
    const std::string missing = transport_missing(std::get<0>(GetParam()));
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_P(Conformance, keeps_every_promise) {
  const auto [transport, ranks] = GetParam();
  for (const Check& check : all_checks()) {
    const Outcome outcome = run_local(transport, ranks, [&](Job& job) {
      check.run(job);
      return 0;
    });
    EXPECT_EQ(outcome.status, 0) << check.name << ": " << outcome.reason;
  }
}

TEST_P(Conformance, keeps_every_promise_within_one_job) {
  const auto [transport, ranks] = GetParam();
  const Outcome outcome = run_local(transport, ranks, [](Job& job) {
    for (int again = 0; again < 2; ++again) {
      for (const Check& check : all_checks()) check.run(job);
    }
    return 0;
  });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Transports, Conformance,
                         ::testing::Combine(::testing::Values("shm", "threads", "ucx", "grpc",
                                                              "sim"),
                                            ::testing::Values(1, 2, 3, 5)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

/// Both MPIs, in jobs of 3 ranks.
class MpiConformance : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string missing = mpi_missing(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
  }
};

TEST_P(MpiConformance, keeps_every_promise) {
  const Outcome outcome = run_mpi(
      3,
      [](Job& job) {
        for (const Check& check : all_checks()) {
          check.run(job);
          job.monitor.beat(0);
        }
        return 0;
      },
      60, GetParam());
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

TEST(ConformanceOfVariants, keep_every_promise) {
  for (const auto& [transport, variable] :
       {std::pair("ucx", "COMMTUNE_UCX=am"), std::pair("ucx", "UCX_RNDV_THRESH=inf"),
        std::pair("ucx", "UCX_TLS=tcp,self"), std::pair("grpc", "COMMTUNE_GRPC=unix"),
        std::pair("shm", "COMMTUNE_REMOTE_READS=0")}) {
    if (const std::string missing = transport_missing(transport); !missing.empty()) {
      std::printf("not run: %s: %s\n", variable, missing.c_str());
      continue;
    }
    const Variant variant(variable);
    for (const int ranks : {2, 3}) {
      const Outcome outcome = run_local(transport, ranks, [](Job& job) {
        for (int again = 0; again < 2; ++again) {
          for (const Check& check : all_checks()) check.run(job);
        }
        return 0;
      });
      EXPECT_EQ(outcome.status, 0) << variable << ", " << ranks << " ranks: " << outcome.reason;
    }
  }
}

TEST(ConformanceOfVariants, an_unknown_one_is_refused_by_name) {
  for (const auto& [transport, variable] :
       {std::pair("ucx", "COMMTUNE_UCX"), std::pair("grpc", "COMMTUNE_GRPC")}) {
    if (!transport_missing(transport).empty()) continue;
    const Variant variant(std::string(variable) + "=pigeon");
    const Outcome outcome = run_local(transport, 2, [](Job&) { return 0; });
    EXPECT_EQ(outcome.status, exit_usage);
    EXPECT_EQ(outcome.reason.rfind(std::string(variable) + "=pigeon: must be ", 0), 0U)
        << outcome.reason;
  }
}

int send_too_much(Job& job, std::size_t sent, std::size_t expected, bool view = false) {
  std::vector<std::byte> out(sent), in(expected);
  Counter done;
  if (job.rank() == 1) {
    job.transport.post_send(0, 4, out, done.id());
    done.wait(job.transport, 1);
  } else if (job.rank() == 0) {
    View seen;
    if (view) {
      job.transport.post_view(1, 4, expected, seen, done.id());
    } else {
      job.transport.post_recv(1, 4, in, done.id());
    }
    done.wait(job.transport, 1);
  }
  return 0;
}

void expect_mismatch(const char* transport, std::size_t sent, std::size_t expected, bool view) {
  const Outcome outcome =
      run_local(transport, 2, [&](Job& job) { return send_too_much(job, sent, expected, view); });
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_EQ(
      outcome.reason,
      fmt::format("rank 0: rank 1 sent {} bytes to rank 0, which expected {} bytes, on lane 4",
                  sent, expected));
}

TEST(SizeMismatch, names_both_ranks_and_sizes) {
  for (const char* transport : {"shm", "threads", "grpc", "sim"}) {
    if (!transport_missing(transport).empty()) continue;
    const bool has_views =
        std::string_view(transport) == "shm" || std::string_view(transport) == "threads";
    for (const bool view : {false, true}) {
      if (view && !has_views) continue;
      expect_mismatch(transport, 16, 8, view);
      expect_mismatch(transport, 8, 16, view);
      expect_mismatch(transport, 0, 1, view);
      expect_mismatch(transport, 5'000, 4'999, view);
      expect_mismatch(transport, 100'000, 99'999, view);
    }
  }
}

// UCX does not always tell by how much a message was too long.
TEST(SizeMismatch, is_seen_by_ucx) {
  if (const std::string missing = transport_missing("ucx"); !missing.empty())
    GTEST_SKIP() << missing;
  for (const std::size_t sent : {std::size_t{0}, std::size_t{8}, std::size_t{100'000}}) {
    for (const std::size_t expected : {std::size_t{16}, std::size_t{99'999}}) {
      const Outcome outcome =
          run_local("ucx", 2, [&](Job& job) { return send_too_much(job, sent, expected); });
      EXPECT_EQ(outcome.status, exit_rank_lost);
      const std::string end =
          fmt::format(" bytes to rank 0, which expected {} bytes, on lane 4", expected);
      EXPECT_EQ(outcome.reason.rfind("rank 0: rank 1 sent ", 0), 0U) << outcome.reason;
      EXPECT_NE(outcome.reason.find(end), std::string::npos) << outcome.reason;
    }
  }
}

TEST_P(MpiConformance, a_message_that_is_too_long_is_seen) {
  const Outcome outcome = run_mpi(
      2, [](Job& job) { return send_too_much(job, 16, 8); }, 60, GetParam());
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_NE(outcome.reason.find("rank 1 sent "), std::string::npos) << outcome.reason;
  EXPECT_NE(outcome.reason.find("expected 8 bytes"), std::string::npos) << outcome.reason;
}

TEST_P(MpiConformance, a_message_that_is_too_short_is_seen) {
  const Outcome outcome = run_mpi(
      2, [](Job& job) { return send_too_much(job, 8, 16); }, 60, GetParam());
  EXPECT_EQ(outcome.status, exit_rank_lost);
  EXPECT_NE(outcome.reason.find("rank 1 sent 8 bytes to rank 0, which expected 16 bytes"),
            std::string::npos)
      << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Flavours, MpiConformance, ::testing::Values("openmpi", "mpich"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Conformance, a_broken_promise_fails_the_job) {
  const Outcome outcome = run_local("shm", 2, [](Job& job) {
    std::vector<std::byte> data(10);
    fill(data, job.rank(), 0, 0);
    data[7] = ~data[7];
    expect_pattern(data, job.rank(), 0, 0);
    return 0;
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_NE(outcome.reason.find("byte 7 of 10"), std::string::npos) << outcome.reason;
}

}  // namespace
}  // namespace commtune::test
