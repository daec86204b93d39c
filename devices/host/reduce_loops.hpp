#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/float16.hpp"
#include "core/types.hpp"
#include "devices/host/reduce_kernels.hpp"

// The iterations are independent whichever operands are the same buffer. Without this the compiler
// takes the scalar path whenever the result overwrites an operand.
#if defined(__clang__)
// Clang warns where it finds such a loop not worth vectorising; 64-bit products on AVX2 are one.
#pragma clang diagnostic ignored "-Wpass-failed"
#define COMMTUNE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define COMMTUNE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define COMMTUNE_INDEPENDENT_ITERATIONS
#endif

/// The element loops, compiled once per instruction set. `Isa` keeps those copies apart, so all
/// code here is a template on it: a plain inline function could be linked from the wrong copy.
/// Isa::half_width is how many Float16 elements Isa::reduce_halves and Isa::divide_halves take in
/// one step; 0 leaves them to the scalar loop.
namespace commtune::reduce_loops {

enum class Op : std::uint8_t { sum, prod, min, max };

/// `Value` is an arithmetic type or a vector of float. Integers compute in an unsigned type that is
/// not promoted, so that overflow wraps.
template <class Isa, Op op, class Value>
inline Value apply(Value x, Value y) {
  if constexpr (op == Op::min) {
    return ((x < y) | (x != x)) ? x : y;
  } else if constexpr (op == Op::max) {
    return ((x > y) | (x != x)) ? x : y;
  } else if constexpr (std::is_integral_v<Value>) {
    using Wide = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;
    const Wide a = static_cast<std::make_unsigned_t<Value>>(x);
    const Wide b = static_cast<std::make_unsigned_t<Value>>(y);
    return static_cast<Value>(op == Op::sum ? a + b : a * b);
  } else {
    return op == Op::sum ? x + y : x * y;
  }
}

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class Isa, class T>
inline T from_float(float value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(value);
  } else {
    return to_bfloat16(value);
  }
}

template <class Isa, class T, Op op>
void reduce(const std::byte* a, const std::byte* b, std::byte* into, std::size_t count) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  T* z = reinterpret_cast<T*>(into);
  std::size_t first = 0;
  if constexpr (std::is_same_v<T, Float16> && Isa::half_width != 0) {
    for (; count - first >= Isa::half_width; first += Isa::half_width) {
      Isa::template reduce_halves<op>(x + first, y + first, z + first);
    }
  }
  COMMTUNE_INDEPENDENT_ITERATIONS
  for (std::size_t i = first; i < count; ++i) {
    if constexpr (is_half<T>) {
      z[i] = from_float<Isa, T>(apply<Isa, op>(to_float(x[i]), to_float(y[i])));
    } else {
      z[i] = apply<Isa, op>(x[i], y[i]);
    }
  }
}

template <class Isa, class T>
void scale(std::byte* data, std::size_t count, int divisor) {
  T* x = reinterpret_cast<T*>(data);
  std::size_t first = 0;
  if constexpr (std::is_same_v<T, Float16> && Isa::half_width != 0) {
    for (; count - first >= Isa::half_width; first += Isa::half_width) {
      Isa::divide_halves(x + first, static_cast<float>(divisor));
    }
  }
  COMMTUNE_INDEPENDENT_ITERATIONS
  for (std::size_t i = first; i < count; ++i) {
    if constexpr (is_half<T>) {
      x[i] = from_float<Isa, T>(to_float(x[i]) / static_cast<float>(divisor));
    } else {
      using Wide = std::conditional_t<sizeof(T) < 8, std::int32_t, std::int64_t>;
      using Divisor = std::conditional_t<std::is_integral_v<T>, Wide, T>;
      x[i] = static_cast<T>(x[i] / static_cast<Divisor>(divisor));
    }
  }
}

/// In the order of ReduceOp; `avg` reduces as sum.
template <class Isa, class T>
constexpr std::array<ReduceKernel, 5> row() {
  return {reduce<Isa, T, Op::sum>, reduce<Isa, T, Op::prod>, reduce<Isa, T, Op::min>,
          reduce<Isa, T, Op::max>, reduce<Isa, T, Op::sum>};
}

/// In the order of DataType.
template <class Isa>
inline constexpr ReduceKernels kernels = {
    {row<Isa, std::int8_t>(), row<Isa, std::int16_t>(), row<Isa, std::int32_t>(),
     row<Isa, std::int64_t>(), row<Isa, std::uint8_t>(), row<Isa, Float16>(), row<Isa, BFloat16>(),
     row<Isa, float>(), row<Isa, double>()},
    {scale<Isa, std::int8_t>, scale<Isa, std::int16_t>, scale<Isa, std::int32_t>,
     scale<Isa, std::int64_t>, scale<Isa, std::uint8_t>, scale<Isa, Float16>, scale<Isa, BFloat16>,
     scale<Isa, float>, scale<Isa, double>}};

}  // namespace commtune::reduce_loops
