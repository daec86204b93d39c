#pragma once
#include <cstddef>

/// The sizes at which the local transports change their ways. Each was chosen by measurement on two
/// cores of an AMD EPYC (Zen 4) virtual machine; docs/measuring.md has the numbers.
namespace commtune::local {

/// Messages of one lane that may be announced and not yet given back. A power of two; views that
/// are held count. Pages of slots that are never used cost nothing.
inline constexpr std::size_t slots_per_lane = 32;

/// What one slot holds beside its flag.
inline constexpr std::size_t slot_data_bytes = 240;

/// Up to here the sender copies a message into the segment and is done. Above, the receiver reads
/// the sender's memory, which saves the copy but costs the sender a wait for the receiver's answer.
inline constexpr std::size_t inline_bytes = 1024;

/// Distance of the blocks that hold inlined messages. Blocks that touch would let the hardware
/// prefetcher of one rank pull in the block that the other one is writing.
inline constexpr std::size_t block_stride = inline_bytes + 512;

/// Private memory of another process: a read by system call costs about 1.5 us plus 0.15 us a page
/// (page look-ups in the kernel), two copies through cells cost none of that but move the bytes
/// twice.
inline constexpr std::size_t remote_bytes = 8 * 1024;

/// One poll copies at most this much of one message, so that other lanes are not kept waiting.
inline constexpr std::size_t piece_bytes = 256 * 1024;

/// Staged messages: sender and receiver copy cell by cell, one ahead of the other.
inline constexpr std::size_t cells_per_lane = 16;
inline constexpr std::size_t cell_bytes = 16 * 1024;

inline constexpr std::size_t bootstrap_bytes = 4096;  ///< of one rank's contribution per round

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

}  // namespace commtune::local
