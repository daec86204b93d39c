#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/float16.hpp"
#include "core/float8.hpp"
#include "core/types.hpp"

/// The arithmetic of reductions, element by element, and data to reduce.
namespace commtune::reduction_reference {

/// Widest exact arithmetic for a type: integers modulo 2^64, everything else in float or double.
template <class T>
struct Arithmetic {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  static Wide widen(T value) { return static_cast<Wide>(value); }
  static T narrow(Wide value) { return static_cast<T>(value); }
};
template <class T, T (*convert)(float) noexcept>
struct FloatArithmetic {
  using Wide = float;
  static float widen(T value) { return to_float(value); }
  static T narrow(float value) { return convert(value); }
};
template <>
struct Arithmetic<Float16> : FloatArithmetic<Float16, to_float16> {};
template <>
struct Arithmetic<BFloat16> : FloatArithmetic<BFloat16, to_bfloat16> {};
template <>
struct Arithmetic<Float8E4M3> : FloatArithmetic<Float8E4M3, to_float8_e4m3> {};
template <>
struct Arithmetic<Float8E5M2> : FloatArithmetic<Float8E5M2, to_float8_e5m2> {};

template <class T>
bool less(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return x < y;
  } else {
    return Arithmetic<T>::widen(x) < Arithmetic<T>::widen(y);
  }
}

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

/// The same bits, or both NaN.
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
    case DataType::float8_e4m3:
      return check(Float8E4M3{});
    case DataType::float8_e5m2:
      return check(Float8E5M2{});
  }
}

}  // namespace commtune::reduction_reference
