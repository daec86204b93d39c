#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace commtune {

using Rank = std::int32_t;

/// `sendrecv` is the send/recv ring: every rank's input goes to the next rank's output.
enum class Collective : std::uint8_t {
  allreduce,
  reduce,
  broadcast,
  allgather,
  reduce_scatter,
  alltoall,
  gather,
  scatter,
  scan,
  exscan,
  sendrecv,
  barrier
};

enum class DataType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2
};

/// `avg` is the sum divided by the number of ranks; integers truncate towards zero.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

/// Bytes of one element.
constexpr std::size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return 1;
    case DataType::int16:
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::float64:
      return 8;
  }
  return 0;
}

constexpr bool reduces(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
      return true;
    case Collective::broadcast:
    case Collective::allgather:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
    case Collective::sendrecv:
    case Collective::barrier:
      break;
  }
  return false;
}
constexpr bool rooted(Collective collective) noexcept {
  return collective == Collective::reduce || collective == Collective::broadcast ||
         collective == Collective::gather || collective == Collective::scatter;
}
/// Buffers are made of one part per rank (alltoall: per pair of ranks), and the parts may have
/// different sizes: allgatherv and the like.
constexpr bool parted(Collective collective) noexcept {
  switch (collective) {
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
    case Collective::sendrecv:
      return true;
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier:
      break;
  }
  return false;
}

/// Every value of an enumeration, in declaration order; the source of `commtune list`.
std::span<const Collective> all_collectives() noexcept;
std::span<const DataType> all_data_types() noexcept;
std::span<const ReduceOp> all_reduce_ops() noexcept;

std::string_view name(Collective) noexcept;
std::string_view name(DataType) noexcept;
std::string_view name(ReduceOp) noexcept;

/// Exact names only. An unknown name throws Error(usage) that starts with `what` (the option or
/// field it came from) and lists the valid names.
Collective parse_collective(std::string_view text, std::string_view what);
DataType parse_data_type(std::string_view text, std::string_view what);
ReduceOp parse_reduce_op(std::string_view text, std::string_view what);

/// "a, b, c" from any range of things with name().
template <class Range>
std::string names_of(const Range& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ", ";
    text += name(value);
  }
  return text;
}

}  // namespace commtune
