#pragma once
#include <optional>
#include <string_view>

#include "dnn_proxy/workload.hpp"

namespace commtune {

/// What a communication record of a framework trace stands for.
enum class RecordKind : std::uint8_t { transfer, stream_wait, communicator_init };
struct RecordName {
  RecordKind record = RecordKind::transfer;
  CommKind kind = CommKind::allreduce;  ///< of a transfer
};

/// Maps a collective's name in any of the spellings that frameworks use ("_allgather_base",
/// "nccl:all_reduce", "c10d::allreduce_"): the backend prefix and everything but letters go, the
/// rest is lower case. Empty when unknown.
std::optional<RecordName> parse_record_name(std::string_view text);

/// True for the annotation of a communication backend: "nccl:...", "gloo:...", "mpi:...",
/// "ucc:...", "rccl:...".
bool is_backend_annotation(std::string_view event_name);

/// True for a device kernel of a communication library, in any naming that NCCL and RCCL used.
bool is_communication_kernel(std::string_view kernel_name);

/// Maps a framework's element type ("Float", "c10::Half", "long int"). Eight-bit floats have no
/// counterpart: they become uint8, which moves the same bytes; `exact` tells. Empty when unknown.
struct ElementType {
  DataType type = DataType::float32;
  bool exact = true;
};
std::optional<ElementType> parse_element_type(std::string_view text);

}  // namespace commtune
