#include "core/float8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace commtune {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The values of a format, decoded slowly and independently of core/float8.hpp.
struct Format {
  int mantissa_bits, bias;
  int first_special;  ///< the first magnitude code that is infinity or NaN
  bool has_infinity;

  double magnitude(int code) const {
    if (code >= first_special) return code == first_special && has_infinity ? HUGE_VAL : nan;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    const int exponent = code >> mantissa_bits;
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  double decode(int code) const {
    return (code & 0x80) != 0 ? -magnitude(code & 0x7f) : magnitude(code);
  }

  /// By search among all finite values: the nearest, of two equally near ones the even code;
  /// the largest for everything above it.
  double round(float value) const {
    if (std::isnan(value)) return nan;
    const double wanted = std::min(std::abs(double{value}), magnitude(first_special - 1));
    int best = 0;
    for (int code = 1; code < first_special; ++code) {
      const double gain = std::abs(magnitude(best) - wanted) - std::abs(magnitude(code) - wanted);
      if (gain > 0 || (gain == 0 && code % 2 == 0)) best = code;
    }
    return std::copysign(magnitude(best), value);
  }
};
constexpr Format e4m3{3, 7, 0x7f, false};
constexpr Format e5m2{2, 15, 0x7c, true};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

bool e4m3_agrees(float value) {
  return same(e4m3.decode(to_float8_e4m3(value).bits), e4m3.round(value));
}
bool e5m2_agrees(float value) {
  return same(e5m2.decode(to_float8_e5m2(value).bits), e5m2.round(value));
}

template <class Check>
void for_every_code(Check&& check) {
  for (int code = 0; code <= 0xff; ++code) check(static_cast<std::uint8_t>(code));
}

TEST(Float8, every_value_widens_exactly) {
  for_every_code([](std::uint8_t code) {
    EXPECT_TRUE(same(to_float(Float8E4M3{code}), e4m3.decode(code))) << int{code};
    EXPECT_TRUE(same(to_float(Float8E5M2{code}), e5m2.decode(code))) << int{code};
  });
}

TEST(Float8, every_finite_value_converts_back_to_itself) {
  for_every_code([](std::uint8_t code) {
    const float four = to_float(Float8E4M3{code});
    const float five = to_float(Float8E5M2{code});
    if (std::isfinite(four)) {
      EXPECT_EQ(to_float8_e4m3(four).bits, code);
    }
    if (std::isfinite(five)) {
      EXPECT_EQ(to_float8_e5m2(five).bits, code);
    }
  });
}

TEST(Float8, rounds_every_float_of_16_significant_bits_to_nearest_even) {
  for (std::uint32_t upper = 0; upper <= 0xffff; ++upper) {
    const auto value = std::bit_cast<float>(upper << 16);
    ASSERT_TRUE(e4m3_agrees(value)) << value;
    ASSERT_TRUE(e5m2_agrees(value)) << value;
  }
}

TEST(Float8, rounds_every_tie_to_even_and_its_neighbours_to_nearest) {
  for_every_code([](std::uint8_t code) {
    const auto next = static_cast<std::uint8_t>(code + 1);
    for (const Format& format : {e4m3, e5m2}) {
      const double low = format.decode(code);
      const double high = format.decode(next);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const auto tie = static_cast<float>((low + high) / 2);
      for (const float value :
           {tie, std::nextafter(tie, HUGE_VALF), std::nextafter(tie, -HUGE_VALF)}) {
        EXPECT_TRUE(e4m3_agrees(value)) << value;
        EXPECT_TRUE(e5m2_agrees(value)) << value;
      }
    }
  });
}

TEST(Float8, saturates_at_the_largest_finite_value) {
  for (const float large : {449.0F, 464.0F, 480.0F, 1e6F, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(to_float(to_float8_e4m3(large)), Float8E4M3::max) << large;
    EXPECT_EQ(to_float(to_float8_e4m3(-large)), -Float8E4M3::max) << large;
  }
  for (const float large : {57345.0F, 61440.0F, 65536.0F, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(to_float(to_float8_e5m2(large)), Float8E5M2::max) << large;
    EXPECT_EQ(to_float(to_float8_e5m2(-large)), -Float8E5M2::max) << large;
  }
}

TEST(Float8, every_kind_of_nan_stays_one_and_keeps_its_sign) {
  for (const std::uint32_t bits :
       {0x7f800001U, 0x7fffffffU, 0x7fc00000U, 0xff800001U, 0xffffffffU}) {
    const auto value = std::bit_cast<float>(bits);
    for (const float back : {to_float(to_float8_e4m3(value)), to_float(to_float8_e5m2(value))}) {
      EXPECT_TRUE(std::isnan(back)) << bits;
      EXPECT_EQ(std::signbit(back), std::signbit(value)) << bits;
    }
  }
}

TEST(Float8, represents_consecutive_integers_up_to_the_stated_one_and_not_the_next) {
  constexpr int four = Float8E4M3::max_consecutive_integer;
  constexpr int five = Float8E5M2::max_consecutive_integer;
  const auto through_four = [](int i) { return to_float(to_float8_e4m3(static_cast<float>(i))); };
  const auto through_five = [](int i) { return to_float(to_float8_e5m2(static_cast<float>(i))); };
  for (int i = -four; i <= four; ++i) EXPECT_EQ(through_four(i), static_cast<float>(i));
  for (int i = -five; i <= five; ++i) EXPECT_EQ(through_five(i), static_cast<float>(i));
  EXPECT_NE(through_four(four + 1), static_cast<float>(four + 1));
  EXPECT_NE(through_five(five + 1), static_cast<float>(five + 1));
}

TEST(Float8Reference, notices_a_result_one_code_off) {
  const float value = 1.0F / 3.0F;
  const auto next = static_cast<std::uint8_t>(to_float8_e4m3(value).bits + 1);
  EXPECT_TRUE(e4m3_agrees(value));
  EXPECT_FALSE(same(e4m3.decode(next), e4m3.round(value)));
  EXPECT_FALSE(same(0.0, -0.0));
}

}  // namespace
}  // namespace commtune
