#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/float16.hpp"
#include "core/float8.hpp"
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

/// The portable element loops, which define the arithmetic. The files of instruction sets compile
/// this code again, so all of it is a template on `Isa`, which keeps the copies apart: a plain
/// inline function could be linked from the wrong one.
namespace commtune::reduce_loops {

enum class Op : std::uint8_t { sum, prod, min, max };

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ||
                                 std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

/// Operands need no alignment.
template <class Isa, class T>
inline T load(const std::byte* from, std::size_t index) {
  T value;
  __builtin_memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}
template <class Isa, class T>
inline void store(std::byte* into, std::size_t index, T value) {
  __builtin_memcpy(into + index * sizeof(T), &value, sizeof(T));
}

template <class Isa, class T>
inline T from_float(float value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(value);
  } else if constexpr (std::is_same_v<T, Float8E4M3>) {
    return to_float8_e4m3(value);
  } else {
    return to_float8_e5m2(value);
  }
}

/// Whether min or max returns its first operand.
template <class Isa, Op op, class Value>
inline bool takes_first(Value x, Value y) {
  return (op == Op::min ? x < y : x > y) | (x != x);
}

/// Integers compute in an unsigned type that is not promoted, so that overflow wraps.
template <class Isa, Op op, class T>
inline T apply(T x, T y) {
  if constexpr (is_narrow_float<T>) {
    const float a = to_float(x);
    const float b = to_float(y);
    if constexpr (op == Op::sum) {
      return from_float<Isa, T>(a + b);
    } else if constexpr (op == Op::prod) {
      return from_float<Isa, T>(a * b);
    } else {
      return takes_first<Isa, op>(a, b) ? x : y;
    }
  } else if constexpr (op == Op::min || op == Op::max) {
    return takes_first<Isa, op>(x, y) ? x : y;
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const Wide a = static_cast<std::make_unsigned_t<T>>(x);
    const Wide b = static_cast<std::make_unsigned_t<T>>(y);
    return static_cast<T>(op == Op::sum ? a + b : a * b);
  } else {
    return op == Op::sum ? x + y : x * y;
  }
}

template <class Isa, class T>
inline T divide(T x, int divisor) {
  if constexpr (is_narrow_float<T>) {
    return from_float<Isa, T>(to_float(x) / static_cast<float>(divisor));
  } else {
    using Wide = std::conditional_t<sizeof(T) < 8, std::int32_t, std::int64_t>;
    using Divisor = std::conditional_t<std::is_integral_v<T>, Wide, T>;
    return static_cast<T>(x / static_cast<Divisor>(divisor));
  }
}

template <class Isa, class T>
void scale(std::byte* data, std::size_t count, int divisor) {
  COMMTUNE_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    store<Isa>(data, i, divide<Isa>(load<Isa, T>(data, i), divisor));
  }
}

template <class Isa>
void cached_copy(const std::byte* from, std::byte* into, std::size_t bytes) {
  if (bytes != 0) __builtin_memcpy(into, from, bytes);
}

/// The kernels of the portable set; streaming stores are ordinary ones.
template <class Isa>
struct Loops {
  template <class T, Op op, Stores>
  static void reduce(const std::byte* a, const std::byte* b, std::byte* into, std::size_t count) {
    COMMTUNE_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) {
      store<Isa>(into, i, apply<Isa, op>(load<Isa, T>(a, i), load<Isa, T>(b, i)));
    }
  }

  template <class T, Op op, Stores stores>
  static void many(const std::byte* const* sources, std::size_t n, std::byte* into,
                   std::size_t count) {
    // A block small enough for the first-level cache passes all sources before it is written, as
    // the result may overwrite any of them.
    constexpr std::size_t block_bytes = 2048;
    std::byte block[block_bytes];
    if (n == 2) return reduce<T, op, stores>(sources[0], sources[1], into, count);
    for (std::size_t first = 0; first < count; first += block_bytes / sizeof(T)) {
      const std::size_t step = std::min(count - first, block_bytes / sizeof(T));
      const std::size_t offset = first * sizeof(T);
      reduce<T, op, stores>(sources[0] + offset, sources[1] + offset, block, step);
      for (std::size_t source = 2; source + 1 < n; ++source) {
        reduce<T, op, stores>(block, sources[source] + offset, block, step);
      }
      reduce<T, op, stores>(block, sources[n - 1] + offset, into + offset, step);
    }
  }

  template <class T>
  static void scale(std::byte* data, std::size_t count, int divisor) {
    reduce_loops::scale<Isa, T>(data, count, divisor);
  }

  template <Stores>
  static void copy(const std::byte* from, std::byte* into, std::size_t bytes) {
    cached_copy<Isa>(from, into, bytes);
  }
};

/// The tables of one family of kernels: Loops, or Vectors in reduce_vectors.hpp.
template <class Family>
struct Tables {
  /// In the order of ReduceOp; `avg` reduces as sum.
  template <class T, Stores s>
  static constexpr std::array<ReduceKernel, 5> reduce_row = {
      Family::template reduce<T, Op::sum, s>, Family::template reduce<T, Op::prod, s>,
      Family::template reduce<T, Op::min, s>, Family::template reduce<T, Op::max, s>,
      Family::template reduce<T, Op::sum, s>};
  template <class T, Stores s>
  static constexpr std::array<ManyReduceKernel, 5> many_row = {
      Family::template many<T, Op::sum, s>, Family::template many<T, Op::prod, s>,
      Family::template many<T, Op::min, s>, Family::template many<T, Op::max, s>,
      Family::template many<T, Op::sum, s>};

  /// In the order of DataType.
  template <Stores s, class... T>
  static constexpr auto reduce_table() {
    return ReduceKernels::Table<ReduceKernel>{reduce_row<T, s>...};
  }
  template <Stores s, class... T>
  static constexpr auto many_table() {
    return ReduceKernels::Table<ManyReduceKernel>{many_row<T, s>...};
  }
  template <class... T>
  static constexpr ReduceKernels all(std::string_view name) {
    constexpr Stores cached = Stores::cached, streaming = Stores::streaming;
    return {name,
            {reduce_table<cached, T...>(), reduce_table<streaming, T...>()},
            {many_table<cached, T...>(), many_table<streaming, T...>()},
            {Family::template copy<cached>, Family::template copy<streaming>},
            {Family::template scale<T>...}};
  }
  static constexpr ReduceKernels all_types(std::string_view name) {
    return all<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, Float16,
               BFloat16, float, double, Float8E4M3, Float8E5M2>(name);
  }
};

template <class Isa>
inline constexpr ReduceKernels kernels = Tables<Loops<Isa>>::all_types(Isa::name);

}  // namespace commtune::reduce_loops
