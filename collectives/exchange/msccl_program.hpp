#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace commtune {

enum class MscclBuffer : std::uint8_t { input, output, scratch };
std::string_view name(MscclBuffer) noexcept;

/// s send; r recv; cpy copy; re reduce into dst; rcs recv, copy, send; rrc recv, reduce, copy;
/// rrs recv, reduce, send; rrcs recv, reduce, copy, send.
enum class MscclStepType : std::uint8_t { s, r, cpy, re, rcs, rrc, rrs, rrcs, nop };
std::string_view name(MscclStepType) noexcept;
constexpr bool receives(MscclStepType type) noexcept {
  return type == MscclStepType::r || (type >= MscclStepType::rcs && type <= MscclStepType::rrcs);
}
constexpr bool sends(MscclStepType type) noexcept {
  return type == MscclStepType::s || type == MscclStepType::rcs || type == MscclStepType::rrs ||
         type == MscclStepType::rrcs;
}
constexpr bool combines(MscclStepType type) noexcept {
  return type == MscclStepType::re || (type >= MscclStepType::rrc && type <= MscclStepType::rrcs);
}
constexpr bool reads_source(MscclStepType type) noexcept {
  return type == MscclStepType::s || type == MscclStepType::cpy || combines(type);
}
constexpr bool writes_destination(MscclStepType type) noexcept {
  return type != MscclStepType::s && type != MscclStepType::rrs && type != MscclStepType::nop;
}

/// Chunks [offset, offset + count) of a buffer.
struct MscclRun {
  MscclBuffer buffer = MscclBuffer::input;
  std::uint32_t offset = 0;
};
struct MscclStep {
  MscclStepType type = MscclStepType::nop;
  MscclRun src, dst;
  std::uint32_t count = 0;
  std::int32_t wait_block = -1, wait_step = -1;  ///< of the same gpu; -1: waits for nothing
  bool signals = false;                          ///< others may wait for it
};

/// Runs its steps one after another. Connections are first in, first out.
struct MscclThreadBlock {
  Rank send_peer = -1, recv_peer = -1;
  std::uint32_t channel = 0;
  std::vector<MscclStep> steps;
};
struct MscclGpu {
  std::uint32_t input_chunks = 0, output_chunks = 0, scratch_chunks = 0;
  std::vector<MscclThreadBlock> blocks;
};
/// An MSCCL algorithm: thread blocks that run concurrently on every gpu, a gpu being a rank.
struct MscclProgram {
  std::string name, protocol;
  Collective collective = Collective::allreduce;
  std::uint32_t chunks = 0;  ///< that the larger buffer of the collective is cut in
  bool in_place = false, out_of_place = false;
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< max 0: no limit
  std::vector<MscclGpu> gpus;

  Rank ranks() const noexcept { return static_cast<Rank>(gpus.size()); }
  /// Blocks of a part, or of the vector, as in block_space().
  std::uint32_t blocks() const noexcept {
    return parted(collective) ? chunks / static_cast<std::uint32_t>(gpus.size()) : chunks;
  }
};

/// "gpu 3 tb 1 step 4 (rrc)"
std::string describe(const MscclProgram&, Rank gpu, std::size_t block, std::size_t step);

/// Reads the XML of one algorithm. Strict: everything that is missing, unknown, repeated or out of
/// range throws Error(usage) that starts with `what` and names the gpu, thread block and step.
MscclProgram parse_msccl(std::string_view xml, const std::string& what);

}  // namespace commtune
