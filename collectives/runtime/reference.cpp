#include "collectives/runtime/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "core/float16.hpp"
#include "core/float8.hpp"
#include "devices/host/reduce.hpp"

namespace commtune {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64, Steele, Lea & Flood, OOPSLA 2014
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Largest magnitude up to which every integer is exact in the type.
std::int64_t exact_limit(DataType type) {
  switch (type) {
    case DataType::int8:
      return 127;
    case DataType::uint8:
      return 255;
    case DataType::bfloat16:
      return 256;
    case DataType::float16:
      return 2048;
    case DataType::float8_e4m3:
      return 16;
    case DataType::float8_e5m2:
      return 8;
    case DataType::int16:
      return 32767;
    case DataType::int32:
    case DataType::int64:
    case DataType::float32:
    case DataType::float64:
      break;
  }
  return 1 << 24;
}

bool is_signed(DataType type) { return type != DataType::uint8; }

/// The integer that rank `rank` contributes as element `index`. Every partial result over any
/// subset of ranks, in any order, is an integer the type holds exactly: sums stay within
/// exact_limit, products are powers of two of at most 2^6 in magnitude.
class Pattern {
 public:
  Pattern(const Call& call, Rank size, std::uint64_t seed)
      : op_(reduces(call.collective) ? call.op : ReduceOp::max),
        seed_(seed),
        signed_(is_signed(call.type)) {
    const auto ranks = static_cast<std::int64_t>(size);
    switch (op_) {
      case ReduceOp::sum:
      case ReduceOp::avg: {
        // With more ranks than the type can count, only every stride-th rank contributes.
        const std::int64_t limit = exact_limit(call.type);
        stride_ = static_cast<std::uint64_t>((ranks + limit - 1) / limit);
        const std::int64_t contributing =
            (ranks + static_cast<std::int64_t>(stride_) - 1) / static_cast<std::int64_t>(stride_);
        range_ = std::clamp<std::int64_t>(limit / contributing, 1, 1000);
        break;
      }
      case ReduceOp::prod:
        stride_ = static_cast<std::uint64_t>((ranks + 5) / 6);
        break;
      case ReduceOp::min:
      case ReduceOp::max:
        range_ = 100;
        break;
    }
  }

  std::int64_t operator()(Rank rank, std::uint64_t index) const {
    const std::uint64_t hash = mix(mix(seed_ ^ (static_cast<std::uint64_t>(rank) << 40)) + index);
    const bool contributes = (static_cast<std::uint64_t>(rank) + index) % stride_ == 0;
    if (op_ == ReduceOp::prod) {
      const std::int64_t magnitude = contributes ? 2 : 1;
      return signed_ && (hash & 1U) != 0 ? -magnitude : magnitude;
    }
    if (!contributes) return 0;
    const auto span = static_cast<std::uint64_t>(signed_ ? 2 * range_ + 1 : range_ + 1);
    const auto value = static_cast<std::int64_t>((hash >> 1) % span);
    return signed_ ? value - range_ : value;
  }

 private:
  ReduceOp op_;
  std::uint64_t seed_, stride_ = 1;
  std::int64_t range_ = 1;
  bool signed_;
};

/// Over the ranks [0, end).
std::int64_t reduce_exactly(ReduceOp op, const Pattern& pattern, Rank end, std::uint64_t index) {
  std::int64_t result = pattern(0, index);
  for (Rank rank = 1; rank < end; ++rank) {
    const std::int64_t value = pattern(rank, index);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg:
        result += value;
        break;
      case ReduceOp::prod:
        result *= value;
        break;
      case ReduceOp::min:
        result = std::min(result, value);
        break;
      case ReduceOp::max:
        result = std::max(result, value);
        break;
    }
  }
  return result;
}

template <class T>
T from_integer(std::int64_t value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Float8E4M3>) {
    return to_float8_e4m3(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Float8E5M2>) {
    return to_float8_e5m2(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
constexpr bool is_small_float = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ||
                                std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <class T>
auto number(T value) {
  if constexpr (is_small_float<T>) {
    return to_float(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return value;
  }
}

/// Representable values from one finite number to another; -0 and 0 are the same value.
template <class Bits>
double steps_between(Bits a, Bits b) {
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = [](Bits bits) {
    return static_cast<std::uint64_t>(static_cast<Bits>(bits & static_cast<Bits>(~sign)));
  };
  const std::uint64_t x = magnitude(a), y = magnitude(b);
  const bool same_side = ((a ^ b) & sign) == 0;
  if (!same_side) return static_cast<double>(x) + static_cast<double>(y);
  return static_cast<double>(x > y ? x - y : y - x);
}

/// Empty for integers and for what is not finite.
template <class T>
std::optional<double> ulp_distance(T got, T expected) {
  if constexpr (std::is_integral_v<T>) {
    return std::nullopt;
  } else {
    if (!std::isfinite(number(got)) || !std::isfinite(number(expected))) return std::nullopt;
    if constexpr (is_small_float<T>) {
      return steps_between(got.bits, expected.bits);
    } else {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      return steps_between(std::bit_cast<Bits>(got), std::bit_cast<Bits>(expected));
    }
  }
}

template <class F>
void dispatch(DataType type, F&& body) {
  switch (type) {
    case DataType::int8:
      return body(std::int8_t{});
    case DataType::int16:
      return body(std::int16_t{});
    case DataType::int32:
      return body(std::int32_t{});
    case DataType::int64:
      return body(std::int64_t{});
    case DataType::uint8:
      return body(std::uint8_t{});
    case DataType::float16:
      return body(Float16{});
    case DataType::bfloat16:
      return body(BFloat16{});
    case DataType::float32:
      return body(float{});
    case DataType::float64:
      return body(double{});
    case DataType::float8_e4m3:
      return body(Float8E4M3{});
    case DataType::float8_e5m2:
      return body(Float8E5M2{});
  }
}

void write_pattern(const Pattern& pattern, Rank rank, std::uint64_t first, std::uint64_t count,
                   DataType type, std::byte* into) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint64_t i = 0; i < count; ++i) {
      const T value = from_integer<T>(pattern(rank, first + i));
      std::memcpy(into + i * sizeof(T), &value, sizeof(T));
    }
  });
}

/// Runs over the elements of one of a rank's buffers, part by part, in the order of the buffer.
class PartWalk {
 public:
  PartWalk(const Call& call, const BlockSpace::Range& range) : call_(call), range_(range) {}

  /// visit(part, elements of the part) for every part.
  template <class Visit>
  void operator()(Visit visit) const {
    const Counts counts = counts_of(call_);
    for (std::uint32_t i = 0; i < range_.count; ++i) {
      const std::uint32_t part = range_.block(i);
      visit(part, counts.of(part));
    }
  }

 private:
  const Call& call_;
  BlockSpace::Range range_;
};

BlockSpace whole_parts(const Call& call, Rank size, Rank rank) {
  if (call.collective == Collective::barrier) return {};
  return block_space(call.collective, {rank, size, call.root, call.in_place}, 1);
}

/// What element `index` of `part` is called in the pattern, the same on every rank.
std::uint64_t label(std::uint32_t part, std::uint64_t index) {
  return (std::uint64_t{part} << 40) + index;
}

/// Expected element `index` of `part` in this rank's output, before the division of ReduceOp::avg.
std::int64_t expected_integer(const Call& call, const Pattern& pattern, Rank rank, Rank size,
                              std::uint32_t part, std::uint64_t index) {
  const std::uint64_t element = label(part, index);
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
      return reduce_exactly(call.op, pattern, size, element);
    case Collective::scan:
      return reduce_exactly(call.op, pattern, rank + 1, element);
    case Collective::exscan:
      return reduce_exactly(call.op, pattern, rank, element);
    case Collective::broadcast:
    case Collective::scatter:
      return pattern(call.root, element);
    case Collective::allgather:
    case Collective::gather:
    case Collective::sendrecv:
      return pattern(static_cast<Rank>(part), element);
    case Collective::alltoall:
      return pattern(static_cast<Rank>(part) / size, element);
    case Collective::barrier:
      break;
  }
  return 0;
}

}  // namespace

void fill_input(const Call& call, Rank rank, Rank size, std::uint64_t seed,
                std::span<std::byte> input, std::span<std::byte> output) {
  const Pattern pattern(call, size, seed);
  constexpr int poison = 0xA5;
  if (!output.empty()) std::memset(output.data(), poison, output.size());
  std::uint64_t at = 0;
  PartWalk(call,
           whole_parts(call, size, rank).input)([&](std::uint32_t part, std::uint64_t elements) {
    if (elements == 0) return;
    write_pattern(pattern, rank, label(part, 0), elements, call.type, input.data() + at);
    at += elements * size_of(call.type);
  });
}

CheckResult check_output(const Call& call, Rank rank, Rank size, std::uint64_t seed) {
  CheckResult result;
  const Pattern pattern(call, size, seed);
  const bool average = call.op == ReduceOp::avg && reduces(call.collective);
  result.checked = output_bytes(call, size, rank) / size_of(call.type);
  dispatch(call.type, [&](auto zero) {
    using T = decltype(zero);
    std::uint64_t at = 0;
    const auto check_element = [&](std::uint32_t part, std::uint64_t index) {
      const std::uint64_t i = at++;
      T got;
      std::memcpy(&got, call.output.data() + i * sizeof(T), sizeof(T));
      T expected = from_integer<T>(expected_integer(call, pattern, rank, size, part, index));
      if (average) scale(reinterpret_cast<std::byte*>(&expected), 1, call.type, size);
      // Negated equality, so that NaN counts as wrong.
      if (!(number(got) == number(expected))) {
        if (result.wrong++ == 0) {
          result.first_index = i;
          result.got = fmt::format("{}", number(got));
          result.expected = fmt::format("{}", number(expected));
        }
        const std::optional<double> distance = ulp_distance(got, expected);
        if (!distance) {
          result.max_ulp.reset();
        } else if (result.max_ulp) {
          result.max_ulp = std::max(*result.max_ulp, *distance);
        }
      }
    };
    PartWalk(call,
             whole_parts(call, size, rank).output)([&](std::uint32_t part, std::uint64_t elements) {
      for (std::uint64_t i = 0; i < elements; ++i) check_element(part, i);
    });
  });
  return result;
}

}  // namespace commtune
