// Buffers beyond 2^31 elements and 2^32 bytes: where they lie, without memory, and once with it.
#include <cstdlib>
#include <sched.h>

#include "collectives/runtime/plan.hpp"
#include "collectives/runtime/program.hpp"
#include "tests/collectives/fixture.hpp"

namespace commtune::test {
namespace {

constexpr std::uint64_t three_billion = 3'000'000'000;

/// The end of the last operand in each buffer, in bytes, and the largest message, in elements.
struct Extent {
  std::uint64_t input = 0, output = 0, scratch = 0, message = 0;
};
Extent extent_of(const Algorithm& algorithm, Rank size, const Call& call, std::uint64_t width) {
  const Schedule schedule = algorithm.generate({size - 1, size, call.root, false}, {});
  const Plan plan = make_plan(schedule, false, {});
  const Program program(plan, call, size, width);
  Extent extent;
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const BoundOperand& operand = program.operands()[i];
    const std::uint64_t end = operand.offset + operand.elements * size_of(call.type);
    std::uint64_t& most = operand.buffer == BufferId::input    ? extent.input
                          : operand.buffer == BufferId::output ? extent.output
                                                               : extent.scratch;
    most = std::max(most, end);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    extent.message = std::max(extent.message, program.steps()[i].elements);
  }
  EXPECT_LE(extent.scratch, program.scratch_bytes());
  return extent;
}

TEST(LargeCounts, of_vectors_reach_to_the_end_of_the_buffers) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring", "test");
  for (const DataType type : {DataType::int8, DataType::float64}) {
    const Call call{.count = three_billion + 1, .type = type};
    const Extent extent = extent_of(ring, 2, call, call.count);
    EXPECT_EQ(extent.input, call.count * size_of(type));
    EXPECT_EQ(extent.output, call.count * size_of(type));
    EXPECT_EQ(extent.message, (call.count + 1) / 2);
  }
}

TEST(LargeCounts, of_parts_reach_to_the_end_of_the_buffers) {
  for (const auto& [collective, algorithm] :
       {std::pair{Collective::alltoall, "pairwise"}, {Collective::alltoall, "bruck"}}) {
    const Call call{.collective = collective, .count = three_billion, .type = DataType::int16};
    const Extent extent =
        extent_of(find_algorithm(collective, algorithm, "test"), 5, call, call.count);
    EXPECT_EQ(extent.input, 5 * three_billion * 2);
    EXPECT_EQ(extent.output, 5 * three_billion * 2);
    EXPECT_GE(extent.message, three_billion);
  }
  const Call call{.collective = Collective::allgather, .count = three_billion};
  EXPECT_EQ(
      extent_of(find_algorithm(Collective::allgather, "ring", "test"), 7, call, call.count).output,
      7 * three_billion * 4);
  EXPECT_EQ(output_bytes(call, 7, 0), 7 * three_billion * 4);
}

TEST(LargeCounts, of_uneven_parts_reach_to_the_end_of_the_buffers) {
  const std::vector<std::uint64_t> counts{three_billion, 0, 5, three_billion + 7};
  const Call call{.collective = Collective::allgather, .type = DataType::int8, .counts = counts};
  EXPECT_EQ(
      extent_of(find_algorithm(Collective::allgather, "ring", "test"), 4, call, three_billion + 7)
          .output,
      2 * three_billion + 12);
}

/// A byte that tells where it is and whose.
std::byte pattern(std::uint64_t i, Rank rank) {
  const std::uint64_t mixed = (i * 0x9e3779b97f4a7c15U) >> 40;
  return static_cast<std::byte>(mixed + static_cast<std::uint64_t>(rank));
}

void move_two_gigabytes(Job& job, Collective collective, const char* algorithm, bool shared) {
  constexpr std::uint64_t count = (std::uint64_t{1} << 31) + 17;
  Call call{.collective = collective, .count = count, .type = DataType::uint8, .in_place = true};
  Buffer buffer;
  std::vector<std::byte> own;
  if (shared) {
    buffer = Buffer(job.transport, count);
  } else {
    own.resize(count);
  }
  const std::span<std::byte> data = shared ? buffer.bytes() : std::span<std::byte>(own);
  place(call, data, job.size(), job.rank());
  for (std::uint64_t i = 0; i < count; ++i) {
    data[i] = pattern(i, job.rank());
    if (i % (1 << 24) == 0) job.monitor.beat(i);
  }
  const auto operation =
      prepare(job.transport, find_algorithm(collective, algorithm, "test"), {}, call);
  operation->start();
  for (std::uint64_t i = 0; !operation->progress(); ++i) {
    job.monitor.beat(i);
    sched_yield();
  }
  const bool sums = collective == Collective::allreduce;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % (1 << 24) == 0) job.monitor.beat(i);
    const auto expected = sums ? static_cast<std::byte>(static_cast<unsigned>(pattern(i, 0)) +
                                                        static_cast<unsigned>(pattern(i, 1)))
                               : pattern(i, 0);
    if (data[i] != expected) {
      fail(Errc::wrong_result, "{}/{}: rank {} element {} is {}, expected {}", name(collective),
           algorithm, job.rank(), i, static_cast<int>(data[i]), static_cast<int>(expected));
    }
  }
}

class LargeData : public testing::TestWithParam<std::string> {};

TEST_P(LargeData, beyond_two_to_the_thirty_one_elements_is_right) {
  if (std::getenv("COMMTUNE_LARGE") == nullptr) {
    GTEST_SKIP() << "needs 5 GiB of memory; set COMMTUNE_LARGE=1 to run it";
  }
  for (const bool shared : {true, false}) {
    expect_job(GetParam(), 2,
               [&](Job& job) { move_two_gigabytes(job, Collective::allreduce, "ring", shared); });
    expect_job(GetParam(), 2, [&](Job& job) {
      move_two_gigabytes(job, Collective::broadcast, "binomial", shared);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Local, LargeData, testing::Values("threads", "shm"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace commtune::test
