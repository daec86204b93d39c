#include "core/float16.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace commtune {
namespace {

/// A binary floating-point format, converted slowly and independently of core/float16.hpp.
struct Format {
  int mantissa_bits, exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  double decode(std::uint16_t bits) const {
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
      return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias() - mantissa_bits);
  }

  double round(float value) const {
    if (std::isnan(value) || std::isinf(value) || value == 0.0F) return value;
    const int exponent = std::max(std::ilogb(value), 1 - bias());
    const double quantum = std::ldexp(1.0, exponent - mantissa_bits);
    const double rounded = std::nearbyint(static_cast<double>(value) / quantum) * quantum;
    return std::abs(rounded) >= std::ldexp(1.0, bias() + 1)
               ? std::copysign(std::numeric_limits<double>::infinity(), rounded)
               : rounded;
  }
};
constexpr Format half{10, 5};
constexpr Format brain{7, 8};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Whether both formats agree with the reference at `value`.
bool agrees(float value) {
  return same(half.decode(to_float16(value).bits), half.round(value)) &&
         same(brain.decode(to_bfloat16(value).bits), brain.round(value));
}

template <class Check>
void for_every_16_bits(Check&& check) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) check(static_cast<std::uint16_t>(bits));
}

TEST(Float16, every_value_widens_exactly_and_converts_back_to_itself) {
  for_every_16_bits([](std::uint16_t bits) {
    const float value = to_float(Float16{bits});
    ASSERT_TRUE(same(value, half.decode(bits))) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(to_float16(value)))) << bits;
    } else {
      ASSERT_EQ(to_float16(value).bits, bits);
    }
  });
}

TEST(BFloat16, every_value_widens_exactly_and_converts_back_to_itself) {
  for_every_16_bits([](std::uint16_t bits) {
    const float value = to_float(BFloat16{bits});
    ASSERT_TRUE(same(value, brain.decode(bits))) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(to_bfloat16(value)))) << bits;
    } else {
      ASSERT_EQ(to_bfloat16(value).bits, bits);
    }
  });
}

TEST(Float16, rounds_to_nearest_even_at_every_tie_and_beside_it) {
  for_every_16_bits([](std::uint16_t bits) {
    for (const Format& format : {half, brain}) {
      const double low = format.decode(bits);
      const double high = format.decode(static_cast<std::uint16_t>(bits + 1));
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const auto tie = static_cast<float>((low + high) / 2);
      ASSERT_TRUE(agrees(tie)) << tie;
      ASSERT_TRUE(agrees(std::nextafter(tie, HUGE_VALF))) << tie;
      ASSERT_TRUE(agrees(std::nextafter(tie, -HUGE_VALF))) << tie;
    }
  });
}

TEST(Float16, agrees_with_the_reference_over_all_exponents) {
  constexpr std::uint32_t stride = 4099;
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += stride) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    ASSERT_TRUE(agrees(value)) << bits;
  }
}

TEST(Float16, overflows_to_infinity_where_rounding_passes_the_largest_value) {
  EXPECT_EQ(to_float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_float16(-65520.0F).bits, 0xfc00);
  EXPECT_EQ(to_float16(HUGE_VALF).bits, 0x7c00);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::lowest()).bits, 0xff80);
}

TEST(Float16, keeps_zero_signs_and_subnormals) {
  EXPECT_EQ(to_float16(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_float16(0x1p-24F).bits, 0x0001);
  EXPECT_EQ(to_float16(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(to_float16(std::nextafter(0x1p-25F, 1.0F)).bits, 0x0001);
  EXPECT_EQ(to_float16(-0x1.8p-24F).bits, 0x8002);
  EXPECT_EQ(to_float16(std::nextafter(0x1p-14F, 0.0F)).bits, 0x0400);
  EXPECT_EQ(to_bfloat16(0x1p-133F).bits, 0x0001);
}

TEST(Float16, every_kind_of_nan_stays_one) {
  for (const std::uint32_t bits :
       {0x7f800001U, 0x7fffffffU, 0x7fc00000U, 0xff800001U, 0xffffffffU}) {
    const auto value = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(to_float(to_float16(value)))) << bits;
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(value)))) << bits;
  }
}

TEST(Float16Reference, notices_a_result_one_bit_off) {
  const float value = 1.0F / 3.0F;
  EXPECT_TRUE(same(half.decode(to_float16(value).bits), half.round(value)));
  EXPECT_FALSE(
      same(half.decode(static_cast<std::uint16_t>(to_float16(value).bits + 1)), half.round(value)));
  EXPECT_FALSE(same(0.0, -0.0));
}

}  // namespace
}  // namespace commtune
