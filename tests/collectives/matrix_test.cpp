// Every algorithm at many rank counts, element counts, types, operators, placements, roots and
// parameters, in memory of the transport and in private memory, on every host transport. ctest runs
// a thinned part; COMMTUNE_MATRIX=N runs each N-th case of the whole product, 1 all of it (hours).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/collectives/cases.hpp"
#include "tests/collectives/fixture.hpp"
#include "tests/collectives/guarded_memory.hpp"

namespace commtune::test {
namespace {

/// The step through the whole product that is asked for; 0: the thinned part.
std::size_t step_of_product() {
  const char* const value = std::getenv("COMMTUNE_MATRIX");
  if (value == nullptr || *value == '\0') return 0;
  const std::size_t step = std::strtoul(value, nullptr, 10);
  if (step == 0) fail(Errc::usage, "COMMTUNE_MATRIX={}: must be a whole number from 1 on", value);
  return step;
}

void run_case(Job& job, const Case& task, GuardedMemory& memory, std::uint64_t seed) {
  const std::string what = text_of(task, job.size());
  Call call = task.call;
  const CallMemory placed = memory.bind(call, job.size(), job.rank(), task.shift);
  fill_input(call, job.rank(), job.size(), seed, placed.input, placed.output);
  std::vector<std::byte> input;
  if (!call.in_place) input.assign(placed.input.begin(), placed.input.end());
  prepare(job.transport, *task.algorithm, task.params, call, task.limits)->run();
  const CheckResult check = check_output(call, job.rank(), job.size(), seed);
  if (check.wrong != 0) {
    fail(Errc::wrong_result, "{}: rank {} element {} is {}, expected {} ({} of {} wrong)", what,
         job.rank(), check.first_index, check.got, check.expected, check.wrong, check.checked);
  }
  memory.check(what);
  if (!call.in_place && !std::equal(input.begin(), input.end(), placed.input.begin())) {
    fail(Errc::wrong_result, "{}: the input was written", what);
  }
}

/// One after another without meeting in between: a fast rank is cases ahead of a slow one.
void run_cases(Job& job, const std::vector<Case>& cases) {
  std::uint64_t bytes = 0;
  for (const Case& task : cases) {
    bytes = std::max(bytes, GuardedMemory::call_bytes(task.call, job.size(), job.rank()));
  }
  GuardedMemory shared(job.transport, true, bytes), own(job.transport, false, bytes);
  std::uint64_t number = 0;
  for (const Case& task : cases) {
    job.monitor.describe(task.algorithm->name, task.call.count);
    job.monitor.beat(++number);
    const bool other = task.mixed && job.rank() % 2 == 1;
    run_case(job, task, task.shared != other ? shared : own, number);
  }
}

struct Setting {
  std::string transport;
  int ranks;
  std::size_t number;
};
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const std::string transport : {"threads", "shm", "mpi"}) {
    for (const int ranks : matrix_ranks) all.push_back({transport, ranks, all.size()});
  }
  return all;
}

class Matrix : public testing::TestWithParam<Setting> {};

TEST_P(Matrix, of_algorithms_is_right) {
  const auto [transport, ranks, number] = GetParam();
  if (transport == "mpi") {
    if (const std::string missing = mpi_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  const std::size_t step = step_of_product();
  const auto cases = step == 0 ? thinned_cases(ranks, number) : every_nth_case(ranks, step);
  const auto run = [&](Job& job) { run_cases(job, cases); };
  if (transport != "mpi") return expect_job(transport, ranks, run);
  const Outcome outcome = run_mpi(ranks, run);
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Host, Matrix, testing::ValuesIn(settings()), [](const auto& setting) {
  return setting.param.transport + "_" + std::to_string(setting.param.ranks);
});

TEST(Memory, that_peers_cannot_read_remotely_is_right_too) {
  setenv("COMMTUNE_REMOTE_READS", "0", 1);
  for (const int ranks : {2, 3, 4}) {
    auto cases = thinned_cases(ranks, static_cast<std::size_t>(ranks));
    for (Case& each : cases) each.shared = each.mixed = false;
    expect_job("shm", ranks, [&](Job& job) { run_cases(job, cases); });
  }
  unsetenv("COMMTUNE_REMOTE_READS");
}

TEST(ThinnedMatrix, has_every_algorithm_count_type_and_operator) {
  std::map<const Algorithm*, std::set<std::uint64_t>> counts;
  std::map<const Algorithm*, std::vector<Arithmetic>> arithmetics;
  for (const Setting& setting : settings()) {
    std::set<const Algorithm*> seen;
    for (const Case& task : thinned_cases(setting.ranks, setting.number)) {
      seen.insert(task.algorithm);
      counts[task.algorithm].insert(task.call.count);
      auto& had = arithmetics[task.algorithm];
      const Arithmetic what{task.call.type, task.call.op};
      if (std::find(had.begin(), had.end(), what) == had.end()) had.push_back(what);
    }
    for (const Algorithm* algorithm : algorithms()) {
      const bool can = !variants_of(*algorithm, setting.ranks).empty();
      EXPECT_EQ(seen.count(algorithm), can ? 1U : 0U) << algorithm->name;
    }
  }
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective == Collective::barrier) continue;
    const std::string what = fmt::format("{}/{}", name(algorithm->collective), algorithm->name);
    EXPECT_EQ(arithmetics[algorithm].size(), arithmetics_of(algorithm->collective).size()) << what;
    for (const int size : matrix_ranks) {
      const auto n = static_cast<std::uint64_t>(size);
      if (variants_of(*algorithm, size).empty()) continue;
      for (const std::uint64_t count : {n - 1, n, n + 1}) {
        EXPECT_EQ(counts[algorithm].count(count), 1U) << what << " count " << count;
      }
    }
    for (const std::uint64_t count : {0U, 1U, 1000U, 70001U}) {
      EXPECT_EQ(counts[algorithm].count(count), 1U) << what << " count " << count;
    }
  }
}

TEST(Guards, notice_a_byte_written_beside_a_buffer) {
  expect_job("threads", 1, [](Job& job) {
    GuardedMemory memory(job.transport, true, 4096);
    Call call{.count = 10};
    const CallMemory placed = memory.bind(call, 1, 0, 4);
    memory.check("before");
    for (std::byte* at : {placed.input.data() - 1, placed.output.data() + 40}) {
      *at = std::byte{0};
      try {
        memory.check("after");
      } catch (const Error&) {
        *at = GuardedMemory::poison;
        continue;
      }
      fail(Errc::wrong_result, "the guard did not notice");
    }
  });
}

}  // namespace
}  // namespace commtune::test
