#include "collectives/schedule/params.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace commtune {
namespace {

std::string refused(std::string_view text) {
  try {
    parse_algorithm_spec(text, "--algorithm");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

const Algorithm& ring() { return find_algorithm(Collective::allreduce, "ring", "test"); }

TEST(AlgorithmSpec, refuses_a_parameter_given_twice) {
  EXPECT_EQ(refused("ring:segments=2:segments=3"),
            "--algorithm 'ring:segments=2:segments=3': 'segments' is given twice");
  EXPECT_EQ(refused("ring:segments=2:channels=3"), "accepted");
}

TEST(Refusal, names_more_blocks_than_a_program_may_have) {
  const Shape shape{.rank = 0, .size = 4};
  EXPECT_EQ(refusal(ring(), shape, {.segments = 512, .channels = 512}), "");
  EXPECT_EQ(refusal(ring(), shape, {.segments = 512, .channels = 513}),
            "262656 segments and channels on 4 ranks make more than 1048576 blocks");
}

TEST(Refusal, does_not_wrap_around_at_32_bits) {
  const Params huge{.segments = 65536, .channels = 65536};
  EXPECT_EQ(refusal(ring(), {.rank = 0, .size = 2}, huge),
            "4294967296 segments and channels on 2 ranks make more than 1048576 blocks");
}

TEST(Refusal, looks_only_at_parameters_that_the_algorithm_reads) {
  const Params huge{.segments = 65536, .channels = 65536};
  const Algorithm& direct = find_algorithm(Collective::allreduce, "direct", "test");
  EXPECT_EQ(refusal(direct, {.rank = 0, .size = 2}, huge), "");
}

}  // namespace
}  // namespace commtune
