#include "devices/host/reduce.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "core/float16.hpp"
#include "devices/host/reduce_kernels.hpp"

namespace commtune {
namespace {

constexpr std::size_t counts[] = {0, 1, 3, 7, 8, 9, 17, 64, 1000};

/// Widest exact arithmetic for a type: integers modulo 2^64, everything else in float or double.
template <class T>
struct Arithmetic {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  static Wide widen(T value) { return static_cast<Wide>(value); }
  static T narrow(Wide value) { return static_cast<T>(value); }
};
template <>
struct Arithmetic<Float16> {
  using Wide = float;
  static float widen(Float16 value) { return to_float(value); }
  static Float16 narrow(float value) { return to_float16(value); }
};
template <>
struct Arithmetic<BFloat16> {
  using Wide = float;
  static float widen(BFloat16 value) { return to_float(value); }
  static BFloat16 narrow(float value) { return to_bfloat16(value); }
};

template <class T>
bool less(T x, T y) {
  return x < y;
}
bool less(Float16 x, Float16 y) { return to_float(x) < to_float(y); }
bool less(BFloat16 x, BFloat16 y) { return to_float(x) < to_float(y); }

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(Arithmetic<T>::widen(value));
  }
}

template <class T>
T expected(T x, T y, ReduceOp op) {
  using A = Arithmetic<T>;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return A::narrow(A::widen(x) + A::widen(y));
    case ReduceOp::prod:
      return A::narrow(A::widen(x) * A::widen(y));
    case ReduceOp::min:
      return is_nan(x) ? x : is_nan(y) ? y : less(x, y) ? x : y;
    case ReduceOp::max:
      return is_nan(x) ? x : is_nan(y) ? y : less(y, x) ? x : y;
  }
  return x;
}

template <class T>
bool same(T x, T y) {
  return (is_nan(x) && is_nan(y)) || std::bit_cast<std::array<std::byte, sizeof(T)>>(x) ==
                                         std::bit_cast<std::array<std::byte, sizeof(T)>>(y);
}

/// Every bit pattern in turn, NaNs, infinities, subnormals and extreme integers among them.
template <class T>
std::vector<T> make_data(std::size_t count, std::uint64_t seed) {
  std::vector<T> data(count);
  std::uint64_t state = seed;
  for (auto& value : data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t bits = state >> 8 ^ state << 24;
    std::memcpy(&value, &bits, sizeof(T));
    if ((state >> 60) == 0) value = Arithmetic<T>::narrow({});
  }
  return data;
}

template <class T>
const std::byte* bytes(const std::vector<T>& data) {
  return reinterpret_cast<const std::byte*>(data.data());
}
template <class T>
std::byte* bytes(std::vector<T>& data) {
  return reinterpret_cast<std::byte*>(data.data());
}

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

template <class Check>
void for_type(DataType type, Check&& check) {
  switch (type) {
    case DataType::int8:
      return check(std::int8_t{});
    case DataType::int16:
      return check(std::int16_t{});
    case DataType::int32:
      return check(std::int32_t{});
    case DataType::int64:
      return check(std::int64_t{});
    case DataType::uint8:
      return check(std::uint8_t{});
    case DataType::float16:
      return check(Float16{});
    case DataType::bfloat16:
      return check(BFloat16{});
    case DataType::float32:
      return check(float{});
    case DataType::float64:
      return check(double{});
  }
}

ReduceKernel kernel_of(const ReduceKernels& kernels, DataType type, ReduceOp op) {
  return kernels.reduce[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

void expect_correct(const ReduceKernels& kernels) {
  for (const auto type : all_data_types()) {
    for (const auto op : all_reduce_ops()) {
      for_type(type, [&](auto value) {
        EXPECT_EQ(wrong_elements<decltype(value)>(kernel_of(kernels, type, op), op), 0U)
            << name(type) << ' ' << name(op);
      });
    }
  }
}

TEST(ReduceKernels, portable_ones_agree_with_the_definition_for_every_type_and_operation) {
  expect_correct(portable_reduce_kernels());
}

TEST(ReduceKernels, avx2_ones_agree_with_the_definition_for_every_type_and_operation) {
  if (avx2_reduce_kernels() == nullptr) GTEST_SKIP() << "this processor lacks AVX2 or F16C";
  expect_correct(*avx2_reduce_kernels());
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

TEST(ReduceKernels, are_the_fastest_set_this_processor_has) {
  const auto& best =
      avx2_reduce_kernels() != nullptr ? *avx2_reduce_kernels() : portable_reduce_kernels();
  for (const auto type : all_data_types()) {
    for (const auto op : all_reduce_ops()) {
      EXPECT_EQ(reduce_kernel(type, op), kernel_of(best, type, op));
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
  std::vector<const ReduceKernels*> sets{&portable_reduce_kernels()};
  if (avx2_reduce_kernels() != nullptr) sets.push_back(avx2_reduce_kernels());
  for (const auto* set : sets) {
    for (const auto type : all_data_types()) {
      for (const int divisor : {1, 2, 3, 7, 1000, 1048576}) {
        for_type(type, [&](auto value) {
          const auto kernel = set->scale[static_cast<std::size_t>(type)];
          EXPECT_EQ(wrong_quotients<decltype(value)>(kernel, divisor), 0U)
              << name(type) << " / " << divisor;
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
