#include "devices/host/reduce.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "devices/host/reduce_kernels.hpp"
#include "tests/devices/reduction_reference.hpp"

namespace commtune {
namespace {

using namespace reduction_reference;

constexpr std::size_t counts[] = {0, 1, 3, 7, 8, 9, 17, 64, 129, 1000};
constexpr Stores both_stores[] = {Stores::cached, Stores::streaming};

/// Wrong elements of `kernel` over all counts, both kinds of aliasing and unaligned operands.
template <class T>
std::size_t wrong_elements(ReduceKernel kernel, ReduceOp op) {
  std::size_t wrong = 0;
  for (const std::size_t count : counts) {
    const auto a = make_data<T>(count + 1, 1 + count);
    const auto b = make_data<T>(count + 1, 1000 + count);
    std::vector<T> separate(count + 1), into_a = a, into_b = b;
    const T guard = separate[0];
    kernel(bytes(a) + sizeof(T), bytes(b) + sizeof(T), bytes(separate) + sizeof(T), count);
    kernel(bytes(into_a) + sizeof(T), bytes(b) + sizeof(T), bytes(into_a) + sizeof(T), count);
    kernel(bytes(a) + sizeof(T), bytes(into_b) + sizeof(T), bytes(into_b) + sizeof(T), count);
    if (!same(separate[0], guard) || !same(into_a[0], a[0]) || !same(into_b[0], b[0])) ++wrong;
    for (std::size_t i = 1; i <= count; ++i) {
      const T want = expected(a[i], b[i], op);
      for (const T got : {separate[i], into_a[i], into_b[i]}) wrong += same(got, want) ? 0U : 1U;
    }
  }
  return wrong;
}

TEST(ReduceKernels, of_every_set_agree_with_the_definition) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto type : all_data_types()) {
      for (const auto op : all_reduce_ops()) {
        for (const auto stores : both_stores) {
          for_type(type, [&](auto value) {
            const auto kernel = set->reduce_kernel(type, op, stores);
            EXPECT_EQ(wrong_elements<decltype(value)>(kernel, op), 0U)
                << set->name << ' ' << name(type) << ' ' << name(op);
          });
        }
      }
    }
  }
}

TEST(ReduceKernels, the_check_notices_a_kernel_of_another_operation) {
  for (const auto type : all_data_types()) {
    for_type(type, [&](auto value) {
      EXPECT_GT(wrong_elements<decltype(value)>(reduce_kernel(type, ReduceOp::sum), ReduceOp::max),
                0U)
          << name(type);
    });
  }
}

TEST(ReduceKernels, are_the_best_set_this_processor_has) {
  const ReduceKernels* best = &portable_reduce_kernels();
  for (const auto* set : {neon_reduce_kernels(), avx2_reduce_kernels(), avx512_reduce_kernels()}) {
    if (set != nullptr) best = set;
  }
  EXPECT_EQ(reduce_instruction_set(), best->name);
  for (const auto type : all_data_types()) {
    for (const auto op : all_reduce_ops()) {
      for (const auto stores : both_stores) {
        EXPECT_EQ(reduce_kernel(type, op, stores), best->reduce_kernel(type, op, stores));
        EXPECT_EQ(many_reduce_kernel(type, op, stores), best->many_kernel(type, op, stores));
      }
    }
  }
}

/// Wrong elements over every pair of codes of an 8-bit type, in one call.
template <class T>
std::size_t wrong_pairs(ReduceKernel kernel, ReduceOp op) {
  std::vector<T> a(65536), b(65536), into(65536);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::bit_cast<T>(static_cast<std::uint8_t>(i >> 8));
    b[i] = std::bit_cast<T>(static_cast<std::uint8_t>(i));
  }
  kernel(bytes(a), bytes(b), bytes(into), into.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    wrong += same(into[i], expected(a[i], b[i], op)) ? 0U : 1U;
  }
  return wrong;
}

TEST(ReduceKernels, of_8_bit_types_are_right_for_every_pair_of_values) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto type :
         {DataType::int8, DataType::uint8, DataType::float8_e4m3, DataType::float8_e5m2}) {
      for (const auto op : all_reduce_ops()) {
        for_type(type, [&](auto value) {
          using T = decltype(value);
          if constexpr (sizeof(T) == 1) {
            EXPECT_EQ(wrong_pairs<T>(set->reduce_kernel(type, op, Stores::cached), op), 0U)
                << set->name << ' ' << name(type) << ' ' << name(op);
          }
        });
      }
    }
  }
}

TEST(ReduceKernels, of_16_bit_types_treat_every_value_alike_in_every_set) {
  std::vector<std::uint16_t> every(65536), partner(65536), want(65536), got(65536);
  for (std::size_t i = 0; i < every.size(); ++i) {
    every[i] = static_cast<std::uint16_t>(i);
    partner[i] = static_cast<std::uint16_t>(i * 40503);
  }
  for (const auto type : {DataType::float16, DataType::bfloat16}) {
    for (const auto op : all_reduce_ops()) {
      const auto kernel = portable_reduce_kernels().reduce_kernel(type, op, Stores::cached);
      kernel(bytes(every), bytes(partner), bytes(want), want.size());
      for (const ReduceKernels* set : reduce_kernel_sets()) {
        set->reduce_kernel(type, op, Stores::streaming)(bytes(every), bytes(partner), bytes(got),
                                                        got.size());
        std::size_t different = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          const bool equal = type == DataType::float16 ? same(Float16{got[i]}, Float16{want[i]})
                                                       : same(BFloat16{got[i]}, BFloat16{want[i]});
          different += equal ? 0U : 1U;
        }
        EXPECT_EQ(different, 0U) << set->name << ' ' << name(type) << ' ' << name(op);
      }
    }
  }
}

template <class T>
T reduce_one(DataType type, ReduceOp op, T x, T y) {
  std::vector<T> a(19, x), b(19, y), into(19);
  reduce_kernel(type, op)(bytes(a), bytes(b), bytes(into), into.size());
  for (const T value : into) EXPECT_TRUE(same(value, into[0]));
  return into[0];
}

TEST(Reduction, integers_wrap_on_overflow) {
  EXPECT_EQ(reduce_one<std::int8_t>(DataType::int8, ReduceOp::sum, 127, 1), -128);
  EXPECT_EQ(reduce_one<std::int8_t>(DataType::int8, ReduceOp::prod, -128, -128), 0);
  EXPECT_EQ(reduce_one<std::int16_t>(DataType::int16, ReduceOp::prod, -32768, 3), -32768);
  EXPECT_EQ(reduce_one<std::int32_t>(DataType::int32, ReduceOp::sum, 2147483647, 1),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduce_one<std::int64_t>(DataType::int64, ReduceOp::prod,
                                     std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reduce_one<std::uint8_t>(DataType::uint8, ReduceOp::sum, 200, 100), 44);
}

TEST(Reduction, min_and_max_propagate_nan_from_either_operand) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto op : {ReduceOp::min, ReduceOp::max}) {
    EXPECT_TRUE(std::isnan(reduce_one(DataType::float32, op, nan, 1.0F)));
    EXPECT_TRUE(std::isnan(reduce_one(DataType::float32, op, 1.0F, nan)));
    EXPECT_TRUE(std::isnan(reduce_one<double>(DataType::float64, op, nan, 1.0)));
    EXPECT_TRUE(is_nan(reduce_one(DataType::float16, op, Float16{0x7e00}, Float16{0x3c00})));
    EXPECT_TRUE(is_nan(reduce_one(DataType::bfloat16, op, BFloat16{0x3f80}, BFloat16{0x7fc0})));
    EXPECT_TRUE(is_nan(reduce_one(DataType::float8_e4m3, op, Float8E4M3{0x38}, Float8E4M3{0xff})));
    EXPECT_TRUE(is_nan(reduce_one(DataType::float8_e5m2, op, Float8E5M2{0x7d}, Float8E5M2{0x3c})));
  }
}

TEST(Reduction, half_types_round_once_to_nearest_even) {
  const auto half = [](float x, float y) {
    return to_float(reduce_one(DataType::float16, ReduceOp::sum, to_float16(x), to_float16(y)));
  };
  EXPECT_EQ(half(2048.0F, 1.0F), 2048.0F);
  EXPECT_EQ(half(2048.0F, 3.0F), 2052.0F);
  EXPECT_EQ(half(65504.0F, 32.0F), std::numeric_limits<float>::infinity());
  const auto brain =
      reduce_one(DataType::bfloat16, ReduceOp::sum, to_bfloat16(256.0F), to_bfloat16(1.0F));
  EXPECT_EQ(to_float(brain), 256.0F);
}

TEST(Reduction, float8_types_saturate_and_keep_an_infinity_that_is_only_selected) {
  const auto e4m3 = [](ReduceOp op, float x, float y) {
    return to_float(reduce_one(DataType::float8_e4m3, op, to_float8_e4m3(x), to_float8_e4m3(y)));
  };
  EXPECT_EQ(e4m3(ReduceOp::sum, 448.0F, 448.0F), 448.0F);
  EXPECT_EQ(e4m3(ReduceOp::prod, -448.0F, 2.0F), -448.0F);
  EXPECT_EQ(e4m3(ReduceOp::sum, 16.0F, 1.0F), 16.0F);
  EXPECT_EQ(e4m3(ReduceOp::sum, 16.0F, 3.0F), 20.0F);
  constexpr Float8E5M2 infinity{0x7c}, one{0x3c}, largest{0x7b};
  EXPECT_EQ(reduce_one(DataType::float8_e5m2, ReduceOp::sum, largest, largest).bits, 0x7b);
  EXPECT_EQ(reduce_one(DataType::float8_e5m2, ReduceOp::sum, infinity, one).bits, 0x7b);
  EXPECT_EQ(reduce_one(DataType::float8_e5m2, ReduceOp::max, infinity, one).bits, 0x7c);
}

/// Wrong elements of dividing every kind of value by `divisor`.
template <class T>
std::size_t wrong_quotients(ScaleKernel kernel, int divisor) {
  std::size_t wrong = 0;
  for (const std::size_t count : counts) {
    const auto before = make_data<T>(count, 5 + count);
    auto after = before;
    kernel(bytes(after), count, divisor);
    for (std::size_t i = 0; i < count; ++i) {
      T want{};
      if constexpr (std::is_integral_v<T>) {
        want = static_cast<T>(std::int64_t{before[i]} / divisor);
      } else {
        using A = Arithmetic<T>;
        want = A::narrow(A::widen(before[i]) / static_cast<typename A::Wide>(divisor));
      }
      wrong += same(after[i], want) ? 0U : 1U;
    }
  }
  return wrong;
}

TEST(Scale, divides_every_type_exactly_once) {
  for (const ReduceKernels* set : reduce_kernel_sets()) {
    for (const auto type : all_data_types()) {
      for (const int divisor : {1, 2, 3, 7, 1000, 1928, 1048576, 16777217}) {
        for_type(type, [&](auto value) {
          const auto kernel = set->scale[static_cast<std::size_t>(type)];
          EXPECT_EQ(wrong_quotients<decltype(value)>(kernel, divisor), 0U)
              << set->name << ' ' << name(type) << " / " << divisor;
        });
      }
    }
  }
}

TEST(Scale, truncates_integers_towards_zero) {
  std::vector<std::int32_t> data{-7, 7, -1, 6};
  scale(bytes(data), data.size(), DataType::int32, 3);
  EXPECT_EQ(data, (std::vector<std::int32_t>{-2, 2, 0, 2}));
  std::vector<float> floats{1.0F, -5.0F, 0.0F};
  scale(bytes(floats), floats.size(), DataType::float32, 4);
  EXPECT_EQ(floats, (std::vector<float>{0.25F, -1.25F, 0.0F}));
}

}  // namespace
}  // namespace commtune
