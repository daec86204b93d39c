#include "jobs.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/process.hpp"
#include "transports/module.hpp"

namespace commtune::test {

std::string transport_missing(std::string_view transport) {
  for (const TransportInfo& info : transports()) {
    if (info.name == transport && !info.available) return info.reason;
  }
  return {};
}

std::string mpi_missing(std::string_view mpi) {
  if (find_module("transport_" + std::string(mpi)).empty()) {
    return std::string(mpi) + " is not in this build";
  }
  return transport_missing("mpi");
}

Outcome run_mpi(int ranks, const std::function<int(Job&)>& body, double timeout_s,
                const std::string& mpi) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  LaunchOptions options;
  options.transport = "mpi";
  options.ranks = ranks;
  options.timeout_s = timeout_s;
  options.mpi = mpi;
  options.argv = {self_path(),
                  std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name(),
                  "--gtest_brief=1"};
  const bool is_rank = !launcher_environment().kind.empty();
  const Outcome outcome = run_job(options, body);
  if (!is_rank) return outcome;
  if (!outcome.reason.empty()) std::fprintf(stderr, "%s\n", outcome.reason.c_str());
  std::fflush(nullptr);
  std::_Exit(outcome.status);
}

}  // namespace commtune::test
