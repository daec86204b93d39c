#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/float16.hpp"
#include "core/float8.hpp"
#include "devices/host/reduce_loops.hpp"

/// Element types in vector registers: how they are loaded, computed with and stored, in the vector
/// types of GCC and Clang. reduce_vectors.hpp says what `Isa` provides.
namespace commtune::reduce_vectors {

using reduce_loops::is_narrow_float;
using reduce_loops::Op;

/// For members that must not become functions of their own, as they take vectors by value.
#define COMMTUNE_INLINE [[gnu::always_inline]] static inline

template <class T, std::size_t bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class Isa, class T>
using Vector = typename VectorOf<T, Isa::bytes>::type;

/// Operations on float vectors of one instruction set.
template <class Isa>
struct Floats {
  using Float = Vector<Isa, float>;
  using Bits = Vector<Isa, std::uint32_t>;

  COMMTUNE_INLINE Float splat(float value) { return value - Float{}; }
  COMMTUNE_INLINE Bits splat_bits(std::uint32_t value) { return value - Bits{}; }

  /// To `mantissa_bits` and no exponent below `min_exponent`, to nearest even; saturates at `max`.
  template <unsigned mantissa_bits, int min_exponent>
  COMMTUNE_INLINE Float round(Float value, float max) {
    const Bits bits = reinterpret_cast<Bits>(value);
    const Bits sign = bits & splat_bits(0x80000000U);
    Float magnitude = reinterpret_cast<Float>(bits ^ sign);
    magnitude = magnitude > splat(max) ? splat(max) : magnitude;
    // The aligner's last mantissa bit weighs as much as the last bit that is kept, so that the
    // float adder rounds.
    constexpr auto smallest = static_cast<std::uint32_t>(127 + min_exponent) << 23;
    Bits exponent = reinterpret_cast<Bits>(magnitude) & splat_bits(0x7f800000U);
    exponent = exponent > splat_bits(smallest) ? exponent : splat_bits(smallest);
    const Float aligner =
        reinterpret_cast<Float>(exponent + splat_bits((23 - mantissa_bits) << 23));
    const Float rounded = (magnitude + aligner) - aligner;
    return reinterpret_cast<Float>(reinterpret_cast<Bits>(rounded) | sign);
  }

  /// The bits of a bfloat16 in the upper half of each lane, to nearest even; the lower half is
  /// undefined.
  COMMTUNE_INLINE Bits round_to_bfloat16(Float value) {
    const Bits bits = reinterpret_cast<Bits>(value);
    const Bits odd = (bits >> 16) & splat_bits(1);
    const Bits rounded = bits + odd + splat_bits(0x7fffU);
    return value != value ? bits | splat_bits(0x00400000U) : rounded;
  }
};

/// What one step of the loops handles of a type: `Raw` is how it lies in memory, `Value` is what
/// stays in registers between the operations of a chain.
template <class Isa, class T>
struct Lanes {
  using Raw = Vector<Isa, std::uint8_t>;
  using Value = Vector<Isa, T>;
  COMMTUNE_INLINE Value decode(Raw raw) { return reinterpret_cast<Value>(raw); }
  COMMTUNE_INLINE Raw encode(Value value) { return reinterpret_cast<Raw>(value); }

  template <Op op>
  COMMTUNE_INLINE Value apply(Value x, Value y) {
    if constexpr (op == Op::min || op == Op::max) {
      const Value chosen = op == Op::min ? (x < y ? x : y) : (x > y ? x : y);
      if constexpr (std::is_integral_v<T>) {
        return chosen;
      } else {
        return x != x ? x : chosen;
      }
    } else if constexpr (std::is_integral_v<T>) {
      using Unsigned = Vector<Isa, std::make_unsigned_t<T>>;
      const auto a = reinterpret_cast<Unsigned>(x);
      const auto b = reinterpret_cast<Unsigned>(y);
      return reinterpret_cast<Value>(op == Op::sum ? a + b : a * b);
    } else {
      return op == Op::sum ? x + y : x * y;
    }
  }
  COMMTUNE_INLINE Value divide(Value x, int divisor) {
    return x / (static_cast<T>(divisor) - Value{});
  }
};

/// How the narrow types, in registers as 16-bit lanes, become two vectors of float and back.
template <class Isa, class T>
struct Narrow;

template <class Isa>
struct Narrow<Isa, Float16> {
  using Raw = Vector<Isa, std::uint8_t>;
  using Value = Vector<Isa, std::uint16_t>;
  using Float = Vector<Isa, float>;
  static constexpr float product_factor = 1.0F;
  COMMTUNE_INLINE Value decode(Raw raw) { return reinterpret_cast<Value>(raw); }
  COMMTUNE_INLINE Raw encode(Value value) { return reinterpret_cast<Raw>(value); }
  COMMTUNE_INLINE void widen(Value value, Float& low, Float& high) { Isa::widen(value, low, high); }
  COMMTUNE_INLINE Float round(Float value) { return value; }
  COMMTUNE_INLINE Value narrow(Float low, Float high) { return Isa::narrow(low, high); }
};

/// `low` are the even elements, `high` the odd ones, so that nothing is permuted.
template <class Isa>
struct Narrow<Isa, BFloat16> {
  using Raw = Vector<Isa, std::uint8_t>;
  using Value = Vector<Isa, std::uint16_t>;
  using Float = Vector<Isa, float>;
  using F = Floats<Isa>;
  static constexpr float product_factor = 1.0F;
  COMMTUNE_INLINE Value decode(Raw raw) { return reinterpret_cast<Value>(raw); }
  COMMTUNE_INLINE Raw encode(Value value) { return reinterpret_cast<Raw>(value); }
  COMMTUNE_INLINE void widen(Value value, Float& low, Float& high) {
    const auto bits = reinterpret_cast<typename F::Bits>(value);
    low = reinterpret_cast<Float>(bits << 16);
    high = reinterpret_cast<Float>(bits & F::splat_bits(0xffff0000U));
  }
  COMMTUNE_INLINE Float round(Float value) { return value; }
  COMMTUNE_INLINE Value narrow(Float low, Float high) {
    return reinterpret_cast<Value>((F::round_to_bfloat16(low) >> 16) |
                                   (F::round_to_bfloat16(high) & F::splat_bits(0xffff0000U)));
  }
};

/// In registers as the binary16 of the same value, whose upper byte it is.
template <class Isa>
struct Narrow<Isa, Float8E5M2> {
  using Raw = typename VectorOf<std::uint8_t, Isa::bytes / 2>::type;
  using Value = Vector<Isa, std::uint16_t>;
  using Float = Vector<Isa, float>;
  static constexpr float product_factor = 1.0F;
  COMMTUNE_INLINE Value decode(Raw raw) { return Isa::expand(raw) << 8; }
  COMMTUNE_INLINE Raw encode(Value value) { return Isa::compress(value >> 8); }
  COMMTUNE_INLINE void widen(Value value, Float& low, Float& high) { Isa::widen(value, low, high); }
  COMMTUNE_INLINE Float round(Float value) {
    return Floats<Isa>::template round<2, -14>(value, Float8E5M2::max);
  }
  COMMTUNE_INLINE Value narrow(Float low, Float high) { return Isa::narrow(low, high); }
};

/// In registers as the binary16 of value / 256, which has the same exponent and mantissa bits.
template <class Isa>
struct Narrow<Isa, Float8E4M3> {
  using Raw = typename VectorOf<std::uint8_t, Isa::bytes / 2>::type;
  using Value = Vector<Isa, std::uint16_t>;
  using Float = Vector<Isa, float>;
  static constexpr float product_factor = 256.0F;
  COMMTUNE_INLINE Value splat(std::uint16_t value) { return value - Value{}; }

  COMMTUNE_INLINE Value decode(Raw raw) {
    // Shifted down by one with the sign, exponent and mantissa lie in their places.
    using Signed = Vector<Isa, std::int16_t>;
    const auto signed_code = reinterpret_cast<Signed>(Isa::expand(raw) << 8);
    const Value placed = reinterpret_cast<Value>(signed_code >> 1) & splat(0xbf80);
    const Value nan_bits = (placed & splat(0x3f80)) == splat(0x3f80) ? splat(0x7c00) : splat(0);
    return placed | nan_bits;
  }
  COMMTUNE_INLINE Raw encode(Value value) {
    Value magnitude = value & splat(0x7fff);
    magnitude = magnitude < splat(0x3f80) ? magnitude : splat(0x3f80);
    return Isa::compress((magnitude >> 7) | ((value >> 8) & splat(0x80)));
  }
  COMMTUNE_INLINE void widen(Value value, Float& low, Float& high) { Isa::widen(value, low, high); }
  COMMTUNE_INLINE Float round(Float value) {
    return Floats<Isa>::template round<3, -14>(value, Float8E4M3::max / product_factor);
  }
  COMMTUNE_INLINE Value narrow(Float low, Float high) { return Isa::narrow(low, high); }
};

template <class Isa, class T>
requires is_narrow_float<T>
struct Lanes<Isa, T> : Narrow<Isa, T> {
  using N = Narrow<Isa, T>;
  using Value = typename N::Value;
  using Float = typename N::Float;

  template <Op op>
  COMMTUNE_INLINE Float apply_floats(Float x, Float y) {
    if constexpr (op == Op::sum) {
      return N::round(x + y);
    } else if constexpr (op == Op::prod) {
      return N::round(x * y * Floats<Isa>::splat(N::product_factor));
    } else {
      return Lanes<Isa, float>::template apply<op>(x, y);
    }
  }
  template <Op op>
  COMMTUNE_INLINE Value apply(Value x, Value y) {
    Float x_low, x_high, y_low, y_high;
    N::widen(x, x_low, x_high);
    N::widen(y, y_low, y_high);
    return N::narrow(apply_floats<op>(x_low, y_low), apply_floats<op>(x_high, y_high));
  }
  COMMTUNE_INLINE Value divide(Value x, int divisor) {
    const Float by = Floats<Isa>::splat(static_cast<float>(divisor));
    Float low, high;
    N::widen(x, low, high);
    return N::narrow(N::round(low / by), N::round(high / by));
  }
};

}  // namespace commtune::reduce_vectors
