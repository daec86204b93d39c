// The checker itself: it must fail when one element, or one bit pattern that compares oddly, is
// wrong.
#include "collectives/runtime/reference.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "devices/host/reduce.hpp"

namespace commtune::test {
namespace {

/// Output of an allreduce over `size` ranks in the given rank order, reduced by the real kernels.
std::vector<std::byte> reduce_in_order(Call call, const std::vector<Rank>& order) {
  const std::size_t bytes = call.count * size_of(call.type);
  const auto size = static_cast<Rank>(order.size());
  std::vector<std::byte> sum(bytes), next(bytes);
  fill_input(call, order[0], size, 7, sum, {});
  for (std::size_t i = 1; i < order.size(); ++i) {
    fill_input(call, order[i], size, 7, next, {});
    reduce_kernel(call.type, call.op)(sum.data(), next.data(), sum.data(), call.count);
  }
  if (call.op == ReduceOp::avg) scale(sum.data(), call.count, call.type, size);
  return sum;
}

TEST(Reference, data_is_exact_in_every_order_type_and_operator) {
  for (const Rank size : {1, 2, 3, 7, 64, 300}) {
    std::vector<Rank> forward(static_cast<std::size_t>(size)), backward;
    std::iota(forward.begin(), forward.end(), 0);
    backward.assign(forward.rbegin(), forward.rend());
    for (const DataType type : all_data_types()) {
      for (const ReduceOp op : all_reduce_ops()) {
        Call call{.count = 129, .type = type, .op = op};
        for (const auto& order : {forward, backward}) {
          std::vector<std::byte> output = reduce_in_order(call, order);
          call.output = output;
          const CheckResult check = check_output(call, 0, size, 7);
          EXPECT_EQ(check.wrong, 0U)
              << name(type) << " " << name(op) << " P=" << size << " element " << check.first_index
              << " got " << check.got << " expected " << check.expected;
        }
      }
    }
  }
}

TEST(Reference, finds_one_wrong_element_wherever_it_is) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{64}, std::size_t{128}}) {
    Call call{.count = 129, .type = DataType::int32};
    std::vector<std::byte> output = reduce_in_order(call, {0, 1, 2});
    output[at * 4] ^= std::byte{1};
    call.output = output;
    const CheckResult check = check_output(call, 0, 3, 7);
    EXPECT_EQ(check.wrong, 1U);
    EXPECT_EQ(check.first_index, at);
    EXPECT_NE(check.got, check.expected);
  }
}

TEST(Reference, counts_nan_as_wrong) {
  Call call{.count = 1000, .type = DataType::float32};
  std::vector<std::byte> output = reduce_in_order(call, {0, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(output.data() + 4 * 999, &nan, 4);
  call.output = output;
  EXPECT_EQ(check_output(call, 0, 2, 7).wrong, 1U);
}

/// The check of one rank's float32 allreduce of its own data after `spoil` changed the output.
template <class T>
CheckResult check_spoiled(DataType type, const std::function<void(std::span<T>)>& spoil) {
  Call call{.count = 100, .type = type};
  std::vector<std::byte> output = reduce_in_order(call, {0});
  std::vector<T> values(100);
  std::memcpy(values.data(), output.data(), output.size());
  spoil(values);
  std::memcpy(output.data(), values.data(), output.size());
  call.output = output;
  return check_output(call, 0, 1, 7);
}

TEST(Reference, tells_the_greatest_distance_in_units_in_the_last_place) {
  EXPECT_EQ(check_spoiled<float>(DataType::float32, [](auto) {}).max_ulp, 0.0);
  const auto next = [](auto from, int steps) {
    for (; steps > 0; --steps) from = std::nextafter(from, 1e30F);
    return from;
  };
  const CheckResult singles = check_spoiled<float>(DataType::float32, [&](std::span<float> v) {
    v[3] = next(v[3], 5);
    v[9] = next(v[9], 2);
  });
  EXPECT_EQ(singles.wrong, 2U);
  EXPECT_EQ(singles.max_ulp, 5.0);
  const CheckResult doubles =
      check_spoiled<double>(DataType::float64, [](std::span<double> v) { v[3] = -v[3] * 0; });
  EXPECT_EQ(doubles.wrong, 1U);
  EXPECT_GT(doubles.max_ulp.value_or(0), 4e18);  // about half the numbers between 0 and infinity
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    const CheckResult halves =
        check_spoiled<std::uint16_t>(type, [](std::span<std::uint16_t> v) { v[3] ^= 2U; });
    EXPECT_EQ(halves.wrong, 1U);
    EXPECT_EQ(halves.max_ulp, 2.0);
  }
}

TEST(Reference, has_no_distance_to_nan_infinity_or_between_integers) {
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const CheckResult check = check_spoiled<float>(DataType::float32, [&](std::span<float> v) {
      v[3] = value;
      v[9] += 1;
    });
    EXPECT_EQ(check.wrong, 2U);
    EXPECT_EQ(check.max_ulp, std::nullopt);
  }
  EXPECT_EQ(check_spoiled<int>(DataType::int32, [](std::span<int> v) { ++v[3]; }).max_ulp,
            std::nullopt);
  EXPECT_EQ(check_spoiled<int>(DataType::int32, [](auto) {}).max_ulp, 0.0);
}

TEST(Reference, finds_swapped_blocks_of_an_allgather) {
  Call call{.collective = Collective::allgather, .count = 50, .type = DataType::int16};
  std::vector<std::byte> output(3 * 100);
  for (Rank rank = 0; rank < 3; ++rank) {
    fill_input(call, rank, 3, 9,
               std::span(output).subspan(static_cast<std::size_t>(rank) * 100, 100), {});
  }
  call.output = output;
  EXPECT_EQ(check_output(call, 1, 3, 9).wrong, 0U);
  std::swap_ranges(output.begin(), output.begin() + 100, output.begin() + 100);
  EXPECT_GT(check_output(call, 1, 3, 9).wrong, 90U);
}

TEST(Reference, poisons_the_output) {
  Call call{.count = 4};
  std::vector<std::byte> input(16), output(16);
  fill_input(call, 0, 2, 1, input, output);
  for (const std::byte byte : output) EXPECT_EQ(byte, std::byte{0xA5});
}

TEST(Buffers, that_are_too_small_overlap_or_lie_elsewhere_are_refused) {
  std::vector<std::byte> memory(64);
  const std::span<std::byte> all(memory);
  const auto refused = [&](Call call) { EXPECT_THROW(check_buffers(call, 2, 1), Error); };
  refused({.count = 8, .input = all.first(16), .output = all.last(32)});
  refused({.count = 8, .input = all.first(32), .output = all.last(16)});
  refused({.count = 8, .input = all.first(32), .output = all.subspan(16, 32)});
  refused({.count = 8, .in_place = true, .input = all.first(32), .output = all.last(32)});
  refused({.collective = Collective::allgather,
           .count = 8,
           .in_place = true,
           .input = all.first(32),
           .output = all});
  check_buffers({.collective = Collective::allgather,
                 .count = 8,
                 .in_place = true,
                 .input = all.last(32),
                 .output = all},
                2, 1);
  check_buffers({.count = 8, .input = all.first(32), .output = all.last(32)}, 2, 1);
}

}  // namespace
}  // namespace commtune::test
