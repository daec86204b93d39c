#include "core/types.hpp"

#include <array>

#include "core/error.hpp"

namespace commtune {
namespace {

constexpr std::array collectives = {
    Collective::allreduce,      Collective::reduce,   Collective::broadcast, Collective::allgather,
    Collective::reduce_scatter, Collective::alltoall, Collective::gather,    Collective::scatter,
    Collective::scan,           Collective::exscan,   Collective::sendrecv,  Collective::barrier};
constexpr std::array data_types = {DataType::int8,        DataType::int16,      DataType::int32,
                                   DataType::int64,       DataType::uint8,      DataType::float16,
                                   DataType::bfloat16,    DataType::float32,    DataType::float64,
                                   DataType::float8_e4m3, DataType::float8_e5m2};
constexpr std::array reduce_ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                                   ReduceOp::avg};

template <class Value>
Value parse_name(std::span<const Value> values, std::string_view kind, std::string_view text,
                 std::string_view what) {
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  fail(Errc::usage, "{}: unknown {} \"{}\"; valid names: {}", what, kind, text, names_of(values));
}

}  // namespace

std::span<const Collective> all_collectives() noexcept { return collectives; }
std::span<const DataType> all_data_types() noexcept { return data_types; }
std::span<const ReduceOp> all_reduce_ops() noexcept { return reduce_ops; }

std::string_view name(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::reduce:
      return "reduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::alltoall:
      return "alltoall";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::scan:
      return "scan";
    case Collective::exscan:
      return "exscan";
    case Collective::sendrecv:
      return "sendrecv";
    case Collective::barrier:
      return "barrier";
  }
  return "invalid";
}

std::string_view name(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
      return "int8";
    case DataType::int16:
      return "int16";
    case DataType::int32:
      return "int32";
    case DataType::int64:
      return "int64";
    case DataType::uint8:
      return "uint8";
    case DataType::float16:
      return "float16";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float32:
      return "float32";
    case DataType::float64:
      return "float64";
    case DataType::float8_e4m3:
      return "float8_e4m3";
    case DataType::float8_e5m2:
      return "float8_e5m2";
  }
  return "invalid";
}

std::string_view name(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::prod:
      return "prod";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::avg:
      return "avg";
  }
  return "invalid";
}

Collective parse_collective(std::string_view text, std::string_view what) {
  return parse_name(all_collectives(), "collective", text, what);
}
DataType parse_data_type(std::string_view text, std::string_view what) {
  return parse_name(all_data_types(), "data type", text, what);
}
ReduceOp parse_reduce_op(std::string_view text, std::string_view what) {
  return parse_name(all_reduce_ops(), "reduction", text, what);
}

}  // namespace commtune
