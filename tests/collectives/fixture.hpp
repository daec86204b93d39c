#pragma once
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/reference.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "transports/job.hpp"

namespace commtune::test {

/// Memory of one call, laid out for its placement.
struct CallBuffers {
  CallBuffers(Transport& transport, Call asked) : call(asked) {
    const Rank size = transport.size();
    const Rank rank = transport.rank();
    memory = Buffer(transport, memory_bytes(call, size, rank));
    const CallMemory placed = place(call, memory.bytes(), size, rank);
    input = placed.input;
    output = placed.output;
  }
  Call call;
  Buffer memory;
  std::span<std::byte> input, output;
};

inline std::string text_of(const Call& call, std::string_view algorithm, Rank size) {
  return fmt::format("{}/{} P={} count {} {} {} root {}{}", name(call.collective), algorithm, size,
                     call.count, name(call.type), name(call.op), call.root,
                     call.in_place ? " in place" : "");
}

/// Fills, runs and checks one operation; throws Error(wrong_result) with the first wrong element.
inline void run_and_check(Job& job, CallBuffers& buffers, Operation& operation,
                          const std::string& what, std::uint64_t seed) {
  fill_input(buffers.call, job.rank(), job.size(), seed, buffers.input, buffers.output);
  job.bootstrap.barrier();
  operation.run();
  const CheckResult check = check_output(buffers.call, job.rank(), job.size(), seed);
  if (check.wrong != 0) {
    fail(Errc::wrong_result, "{}: rank {} element {} is {}, expected {} ({} of {} wrong)", what,
         job.rank(), check.first_index, check.got, check.expected, check.wrong, check.checked);
  }
  job.bootstrap.barrier();
}

/// Runs `body` on `ranks` ranks of `transport` and expects it to succeed.
inline void expect_job(const std::string& transport, int ranks,
                       const std::function<void(Job&)>& body) {
  LaunchOptions options;
  options.transport = transport;
  options.ranks = ranks;
  options.timeout_s = 60;
  const Outcome outcome = run_job(options, [&](Job& job) {
    body(job);
    return 0;
  });
  EXPECT_EQ(outcome.status, 0) << transport << " with " << ranks << " ranks: " << outcome.reason;
}

/// Why mpi cannot run here; empty when it can.
inline std::string mpi_missing() {
  for (const TransportInfo& info : transports()) {
    if (info.name == "mpi" && !info.available) return info.reason;
  }
  return {};
}

/// Runs `body` over mpi: starts this program again, for the current test alone, under mpirun. Does
/// not return in the started ranks.
inline Outcome run_mpi(int ranks, const std::function<void(Job&)>& body) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  LaunchOptions options;
  options.transport = "mpi";
  options.ranks = ranks;
  options.timeout_s = 60;
  options.argv = {self_path(),
                  std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name(),
                  "--gtest_brief=1"};
  const bool is_rank = !launcher_environment().kind.empty();
  const Outcome outcome = run_job(options, [&](Job& job) {
    body(job);
    return 0;
  });
  if (!is_rank) return outcome;
  if (!outcome.reason.empty()) std::fprintf(stderr, "%s\n", outcome.reason.c_str());
  std::fflush(nullptr);
  std::_Exit(outcome.status);
}

}  // namespace commtune::test
