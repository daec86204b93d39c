#include "dnn_proxy/importers/names.hpp"

#include <array>
#include <string>

namespace commtune {
namespace {

struct Alias {
  std::string_view letters;
  CommKind kind;
};
constexpr std::array aliases = {
    Alias{"allreduce", CommKind::allreduce},
    Alias{"allreducecoalesced", CommKind::allreduce},
    Alias{"broadcast", CommKind::broadcast},
    Alias{"allgather", CommKind::allgather},
    Alias{"allgatherbase", CommKind::allgather},
    Alias{"allgathercoalesced", CommKind::allgather},
    Alias{"allgatherintotensor", CommKind::allgather},
    Alias{"allgatherintotensorcoalesced", CommKind::allgather},
    Alias{"allgathersingle", CommKind::allgather},
    Alias{"allgathersinglecoalesced", CommKind::allgather},
    Alias{"reducescatter", CommKind::reduce_scatter},
    Alias{"reducescatterbase", CommKind::reduce_scatter},
    Alias{"reducescattertensor", CommKind::reduce_scatter},
    Alias{"reducescattertensorcoalesced", CommKind::reduce_scatter},
    Alias{"reducescattersingle", CommKind::reduce_scatter},
    Alias{"reducescattersinglecoalesced", CommKind::reduce_scatter},
    Alias{"barrier", CommKind::barrier},
    Alias{"alltoall", CommKind::all_to_all},
    Alias{"alltoallv", CommKind::all_to_all},
    Alias{"alltoallbase", CommKind::all_to_all},
    Alias{"alltoallsingle", CommKind::all_to_all},
    Alias{"reduce", CommKind::reduce},
    Alias{"gather", CommKind::gather},
    Alias{"scatter", CommKind::scatter},
    Alias{"send", CommKind::send},
    Alias{"isend", CommKind::send},
    Alias{"recv", CommKind::recv},
    Alias{"irecv", CommKind::recv},
    Alias{"recvanysource", CommKind::recv},
};

constexpr std::array<std::string_view, 6> backends = {
    "nccl:", "gloo:", "mpi:", "ucc:", "rccl:", "xccl:"};

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

struct TypeAlias {
  std::string_view text;
  DataType type;
  bool exact = true;
};
constexpr std::array types = {
    TypeAlias{"byte", DataType::uint8},
    TypeAlias{"unsigned char", DataType::uint8},
    TypeAlias{"bool", DataType::uint8},
    TypeAlias{"char", DataType::int8},
    TypeAlias{"signed char", DataType::int8},
    TypeAlias{"short", DataType::int16},
    TypeAlias{"short int", DataType::int16},
    TypeAlias{"int", DataType::int32},
    TypeAlias{"long", DataType::int64},
    TypeAlias{"long int", DataType::int64},
    TypeAlias{"half", DataType::float16},
    TypeAlias{"bfloat16", DataType::bfloat16},
    TypeAlias{"float", DataType::float32},
    TypeAlias{"double", DataType::float64},
    TypeAlias{"float8_e5m2", DataType::uint8, false},
    TypeAlias{"float8_e4m3fn", DataType::uint8, false},
    TypeAlias{"float8_e5m2fnuz", DataType::uint8, false},
    TypeAlias{"float8_e4m3fnuz", DataType::uint8, false},
};

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text)
    lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return lower;
}

}  // namespace

std::optional<RecordName> parse_record_name(std::string_view text) {
  for (const std::string_view prefix : backends)
    if (begins_with(text, prefix)) text.remove_prefix(prefix.size());
  if (begins_with(text, "c10d::")) text.remove_prefix(6);
  std::string letters;
  for (const char c : lower_case(text))
    if (c >= 'a' && c <= 'z') letters.push_back(c);
  if (letters == "wait") return RecordName{RecordKind::stream_wait, CommKind::barrier};
  if (letters == "init") return RecordName{RecordKind::communicator_init, CommKind::barrier};
  for (const Alias& alias : aliases)
    if (alias.letters == letters) return RecordName{RecordKind::transfer, alias.kind};
  return std::nullopt;
}

bool is_backend_annotation(std::string_view event_name) {
  for (const std::string_view prefix : backends)
    if (begins_with(event_name, prefix)) return true;
  return false;
}

bool is_communication_kernel(std::string_view kernel_name) {
  return kernel_name.find("nccl") != std::string_view::npos ||
         kernel_name.find("rccl") != std::string_view::npos;
}

std::optional<ElementType> parse_element_type(std::string_view text) {
  std::string lower = lower_case(text);
  if (begins_with(lower, "c10::")) lower.erase(0, 5);
  for (const TypeAlias& alias : types)
    if (alias.text == lower) return ElementType{alias.type, alias.exact};
  return std::nullopt;
}

}  // namespace commtune
