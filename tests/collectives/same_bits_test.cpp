// Data whose sums round: every transport must leave the very bits that a sequential interpreter of
// the programs computes.
#include <algorithm>

#include "tests/collectives/cases.hpp"
#include "tests/collectives/fixture.hpp"
#include "tests/collectives/guarded_memory.hpp"
#include "tests/collectives/interpreter.hpp"

namespace commtune::test {
namespace {

/// Cases of every algorithm and variant; all ranks agree on them.
std::vector<Interpreted> interpreted_cases(Rank size) {
  constexpr DataType rounding[] = {DataType::float32,     DataType::float16,     DataType::bfloat16,
                                   DataType::float8_e4m3, DataType::float8_e5m2, DataType::float64,
                                   DataType::uint8};
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::avg, ReduceOp::max};
  std::vector<Interpreted> tasks;
  for (const Algorithm* algorithm : algorithms()) {
    const Collective collective = algorithm->collective;
    if (collective == Collective::barrier) continue;
    const bool scans = collective == Collective::scan || collective == Collective::exscan;
    for (const Params& params : variants_of(*algorithm, size)) {
      for (const std::uint64_t count : {static_cast<std::uint64_t>(size) + 1, std::uint64_t{613}}) {
        const std::size_t n = tasks.size();
        Call call{.collective = collective, .count = count, .type = rounding[n % 7]};
        if (reduces(collective)) call.op = ops[n / 2 % (scans ? 2 : 4)];
        if (rooted(collective)) call.root = static_cast<Rank>(n) % size;
        call.in_place = n / 3 % 2 == 1;
        const Shape shape{0, size, call.root, call.in_place};
        if (!refusal(*algorithm, shape, params).empty()) continue;
        tasks.push_back({algorithm, params, call, n % 3 == 0 ? std::uint64_t{256} : 0, n, {}});
        interpret(tasks.back(), size);
      }
    }
  }
  return tasks;
}

void expect_same_bits(Job& job, const Interpreted& task, GuardedMemory& memory, bool shared) {
  const Case shown{task.algorithm, task.params, task.call, {.wave_bytes = task.wave_bytes}, shared};
  const std::string what = text_of(shown, job.size());
  Call call = task.call;
  const CallMemory placed = memory.bind(call, job.size(), job.rank(), size_of(call.type));
  std::fill(placed.output.begin(), placed.output.end(), std::byte{0xA5});
  fill_random(placed.input, call.type, input_seed(task, job.rank()));
  prepare(job.transport, *task.algorithm, task.params, call, shown.limits)->run();
  const auto& expected = task.outputs[static_cast<std::size_t>(job.rank())];
  const auto differ = std::mismatch(expected.begin(), expected.end(), placed.output.begin());
  if (differ.first != expected.end()) {
    fail(Errc::wrong_result, "{}: byte {} of rank {} is {:#x}, expected {:#x}", what,
         differ.first - expected.begin(), job.rank(), static_cast<unsigned>(*differ.second),
         static_cast<unsigned>(*differ.first));
  }
  memory.check(what);
}

void expect_same_bits(Job& job, const std::vector<Interpreted>& tasks) {
  std::uint64_t bytes = 0;
  for (const Interpreted& task : tasks) {
    bytes = std::max(bytes, GuardedMemory::call_bytes(task.call, job.size(), job.rank()));
  }
  GuardedMemory shared(job.transport, true, bytes), own(job.transport, false, bytes);
  for (const Interpreted& task : tasks) {
    job.monitor.describe(task.algorithm->name, task.call.count);
    job.monitor.beat(task.seed + 1);
    expect_same_bits(job, task, shared, true);
    expect_same_bits(job, task, own, false);
  }
}

class SameBits : public testing::TestWithParam<int> {};

TEST_P(SameBits, come_from_the_local_transports) {
  const auto tasks = interpreted_cases(GetParam());
  for (const std::string transport : {"threads", "shm"}) {
    expect_job(transport, GetParam(), [&](Job& job) { expect_same_bits(job, tasks); });
  }
}

INSTANTIATE_TEST_SUITE_P(Local, SameBits, testing::Values(2, 3, 4, 5, 8, 9),
                         testing::PrintToStringParamName());

class SameBitsOverMpi : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string missing = mpi_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_P(SameBitsOverMpi, come_from_every_algorithm) {
  const Outcome outcome =
      run_mpi(GetParam(), [](Job& job) { expect_same_bits(job, interpreted_cases(job.size())); });
  EXPECT_EQ(outcome.status, 0) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(Launched, SameBitsOverMpi, testing::Values(2, 3, 4, 5),
                         testing::PrintToStringParamName());

/// Runs all cases, of which the last one expects a wrong bit of rank 1.
void expect_wrong_bit(Job& job) {
  auto tasks = interpreted_cases(job.size());
  tasks.back().outputs[1].back() ^= std::byte{1};
  expect_same_bits(job, tasks);
}

TEST(Bits, that_differ_are_noticed) {
  LaunchOptions options;
  options.transport = "threads";
  const Outcome outcome = run_job(options, [](Job& job) {
    expect_wrong_bit(job);
    return 0;
  });
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_NE(outcome.reason.find("of rank 1 is"), std::string::npos) << outcome.reason;
}

TEST(Bits, that_differ_over_mpi_are_noticed) {
  if (const std::string missing = mpi_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Outcome outcome = run_mpi(2, expect_wrong_bit);
  EXPECT_EQ(outcome.status, exit_measured_failure);
  EXPECT_NE(outcome.reason.find("of rank 1 is"), std::string::npos) << outcome.reason;
}

TEST(Interpreter, data_depends_on_the_order_of_reduction) {
  const auto with = [](const char* algorithm) {
    Interpreted task{
        &find_algorithm(Collective::allreduce, algorithm, "test"), {}, {.count = 613}, 0, 1, {}};
    interpret(task, 5);
    EXPECT_EQ(task.outputs[0], task.outputs[4]);
    return task.outputs[0];
  };
  EXPECT_NE(with("ring"), with("tree"));
}

}  // namespace
}  // namespace commtune::test
