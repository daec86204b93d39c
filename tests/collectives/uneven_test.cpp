// Parts of different sizes, empty ones among them, in every parted collective.
#include <algorithm>

#include "tests/collectives/cases.hpp"
#include "tests/collectives/fixture.hpp"
#include "tests/collectives/guarded_memory.hpp"

namespace commtune::test {
namespace {

/// Part sizes by pattern: mixed with empty ones, one part alone, none at all, one long part.
std::vector<std::uint64_t> parts(Collective collective, Rank size, int pattern, bool in_place) {
  const auto n = static_cast<std::size_t>(size);
  const bool pairs = collective == Collective::alltoall;
  std::vector<std::uint64_t> counts(pairs ? n * n : n);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // In place both directions of a pair are equal, and so are all parts of a ring.
    std::size_t key = i;
    if (pairs && in_place) key = std::min(i / n, i % n) * n + std::max(i / n, i % n);
    if (collective == Collective::sendrecv && in_place) key = 1;
    const std::uint64_t mixed[] = {17, 0, 1, 200, 3, 0, 64, 1001, 5};
    switch (pattern) {
      case 0:
        counts[i] = mixed[key % 9];
        break;
      case 1:
        counts[i] = key == 1 ? 77 : 0;
        break;
      case 2:
        counts[i] = 0;
        break;
      default:
        counts[i] = key == n - 1 ? 40000 : key;
        break;
    }
  }
  return counts;
}

void check_uneven(Job& job, const Case& task, int pattern) {
  const auto counts = parts(task.call.collective, job.size(), pattern, task.call.in_place);
  Call call = task.call;
  call.counts = counts;
  const std::string what = fmt::format("{} pattern {}", text_of(task, job.size()), pattern);
  GuardedMemory memory(job.transport, task.shared,
                       GuardedMemory::call_bytes(call, job.size(), job.rank()));
  const CallMemory placed = memory.bind(call, job.size(), job.rank(), size_of(call.type));
  const auto operation = prepare(job.transport, *task.algorithm, task.params, call, task.limits);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    fill_input(call, job.rank(), job.size(), seed, placed.input, placed.output);
    operation->run();
    const CheckResult check = check_output(call, job.rank(), job.size(), seed);
    if (check.wrong != 0) {
      fail(Errc::wrong_result, "{}: rank {} element {} is {}, expected {}", what, job.rank(),
           check.first_index, check.got, check.expected);
    }
  }
  memory.check(what);
}

struct Setting {
  std::string transport;
  int ranks;
};
class Uneven : public testing::TestWithParam<Setting> {};

TEST_P(Uneven, parts_are_right) {
  expect_job(GetParam().transport, GetParam().ranks, [](Job& job) {
    std::uint64_t number = 0;
    for (const Algorithm* algorithm : algorithms()) {
      if (!parted(algorithm->collective)) continue;
      for (const Params& params : variants_of(*algorithm, job.size())) {
        for (int i = 0; i < 8; ++i) {
          job.monitor.describe(algorithm->name, 0);
          job.monitor.beat(++number);
          Case task{algorithm,
                    params,
                    {.collective = algorithm->collective,
                     .type = number % 2 == 0 ? DataType::int16 : DataType::float64},
                    number % 3 == 0 ? Limits{.wave_bytes = 64} : Limits{},
                    number % 4 < 2};
          task.call.in_place = i % 2 == 1;
          if (rooted(algorithm->collective))
            task.call.root = static_cast<Rank>(number) % job.size();
          const Shape shape{0, job.size(), task.call.root, task.call.in_place};
          if (refusal(*algorithm, shape, params).empty()) check_uneven(job, task, i / 2);
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Local, Uneven,
                         testing::Values(Setting{"threads", 1}, Setting{"threads", 2},
                                         Setting{"threads", 5}, Setting{"threads", 8},
                                         Setting{"shm", 2}, Setting{"shm", 3}, Setting{"shm", 4},
                                         Setting{"shm", 7}),
                         [](const auto& setting) {
                           return setting.param.transport + "_" +
                                  std::to_string(setting.param.ranks);
                         });

/// What check_buffers says to rank 1 of 3, with buffers that are large enough.
std::string refused(Call call) {
  std::vector<std::byte> memory(1 << 16);
  call.input = std::span<std::byte>(memory).first(1 << 15);
  call.output = std::span<std::byte>(memory).last(1 << 15);
  if (call.in_place) call.output = std::span<std::byte>(memory).first(1 << 15);
  try {
    check_buffers(call, 3, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::usage);
    return error.what();
  }
  return {};
}

TEST(UnevenCounts, of_the_wrong_number_or_kind_are_refused) {
  const std::vector<std::uint64_t> two{1, 2}, three{1, 2, 3}, equal{2, 2, 2};
  EXPECT_NE(refused({.collective = Collective::allgather, .counts = two})
                .find("needs 3 counts, 2 are given"),
            std::string::npos);
  EXPECT_NE(refused({.collective = Collective::alltoall, .counts = three})
                .find("needs 9 counts, 3 are given"),
            std::string::npos);
  EXPECT_NE(refused({.collective = Collective::allreduce, .counts = three}).find("has no parts"),
            std::string::npos);
  EXPECT_NE(refused({.collective = Collective::sendrecv, .in_place = true, .counts = three})
                .find("all counts must be equal"),
            std::string::npos);
  EXPECT_EQ(refused({.collective = Collective::sendrecv, .in_place = true, .counts = equal}), "");
  EXPECT_EQ(refused({.collective = Collective::sendrecv, .counts = three}), "");
}

TEST(UnevenCounts, of_an_alltoall_in_place_are_symmetric) {
  std::vector<std::uint64_t> counts{1, 2, 3, 2, 4, 5, 3, 5, 6};
  EXPECT_EQ(refused({.collective = Collective::alltoall, .in_place = true, .counts = counts}), "");
  counts[5] = 7;
  EXPECT_NE(refused({.collective = Collective::alltoall, .in_place = true, .counts = counts})
                .find("rank 2 sends 5 elements to rank 1 and gets 7"),
            std::string::npos);
  EXPECT_EQ(refused({.collective = Collective::alltoall, .counts = counts}), "");
}

TEST(Average, of_a_scan_is_refused) {
  expect_job("threads", 1, [](Job& job) {
    for (const Collective collective : {Collective::scan, Collective::exscan}) {
      CallBuffers buffers(job.transport,
                          {.collective = collective, .count = 4, .op = ReduceOp::avg});
      const Algorithm& linear = find_algorithm(collective, "linear", "test");
      try {
        prepare(job.transport, linear, {}, buffers.call);
      } catch (const Error& error) {
        if (error.code() == Errc::usage) continue;
      }
      fail(Errc::wrong_result, "{}: the average was accepted", name(collective));
    }
  });
}

}  // namespace
}  // namespace commtune::test
