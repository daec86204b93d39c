#pragma once
#include <bit>
#include <cstdint>

#include "core/float16.hpp"

namespace commtune {

/// The 8-bit floating-point formats of the OCP OFP8 specification as storage types. Arithmetic goes
/// through float. Conversion from float rounds to nearest even and saturates: a finite value beyond
/// the largest one, and infinity, become the largest finite value of their sign. NaN stays NaN.

/// 4 exponent and 3 mantissa bits, bias 7. No infinity; 0x7f and 0xff are the only NaNs.
struct Float8E4M3 {
  static constexpr float max = 448.0F;
  /// Every integer from minus this to this is represented exactly.
  static constexpr int max_consecutive_integer = 16;
  std::uint8_t bits;
};

/// 5 exponent and 2 mantissa bits, bias 15: the upper byte of a binary16, infinities included.
struct Float8E5M2 {
  static constexpr float max = 57344.0F;
  static constexpr int max_consecutive_integer = 8;
  std::uint8_t bits;
};

constexpr float to_float(Float8E5M2 value) noexcept {
  return to_float(Float16{static_cast<std::uint16_t>(value.bits << 8)});
}

constexpr float to_float(Float8E4M3 value) noexcept {
  const std::uint32_t sign = (value.bits & 0x80U) << 24;
  const std::uint32_t magnitude = value.bits & 0x7fU;
  if (magnitude == 0x7fU) return std::bit_cast<float>(sign | 0x7fc00000U);
  if (magnitude >= 0x08U) return std::bit_cast<float>(sign | ((magnitude << 20) + (120U << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-9F;
  return sign != 0 ? -subnormal : subnormal;
}

namespace float8 {

/// The code of a float's magnitude, without the sign. `bias` is that of the format.
template <class Format, unsigned mantissa_bits, unsigned bias>
constexpr std::uint8_t magnitude_code(std::uint32_t magnitude, std::uint8_t max_code,
                                      std::uint8_t nan_code) noexcept {
  constexpr unsigned dropped = 23 - mantissa_bits;
  constexpr std::uint32_t smallest_normal = (128 - bias) << 23;
  if (magnitude > 0x7f800000U) return nan_code;
  if (magnitude >= std::bit_cast<std::uint32_t>(Format::max)) return max_code;
  if (magnitude < smallest_normal) {
    // The last mantissa bit of the aligner weighs as much as the smallest subnormal, so that the
    // float adder rounds.
    constexpr std::uint32_t aligner = smallest_normal + (dropped << 23);
    const float aligned = std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligner);
    return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(aligned) - aligner);
  }
  const std::uint32_t rounded =
      magnitude + ((1U << (dropped - 1)) - 1) + ((magnitude >> dropped) & 1U);
  return static_cast<std::uint8_t>((rounded >> dropped) - ((127 - bias) << mantissa_bits));
}

}  // namespace float8

constexpr Float8E4M3 to_float8_e4m3(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto code = float8::magnitude_code<Float8E4M3, 3, 7>(bits & 0x7fffffffU, 0x7e, 0x7f);
  return {static_cast<std::uint8_t>(code | ((bits >> 24) & 0x80U))};
}

constexpr Float8E5M2 to_float8_e5m2(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto code = float8::magnitude_code<Float8E5M2, 2, 15>(bits & 0x7fffffffU, 0x7b, 0x7e);
  return {static_cast<std::uint8_t>(code | ((bits >> 24) & 0x80U))};
}

}  // namespace commtune
