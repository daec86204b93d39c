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
/// At 1 KiB copying wins whether the data is freshly written or not; at 2 KiB only when it is.
inline constexpr std::size_t inline_bytes = 1024;

/// Distance of the blocks that hold inlined messages. At 2 KiB, blocks that touch each other were
/// about a tenth slower.
inline constexpr std::size_t block_stride = inline_bytes + 512;

/// From here private memory of another process is read by system call: about 1.5 us and then one
/// copy. Two copies through cells win up to 1 MiB while the cores are close to each other and lose
/// from 4 KiB on while they are far (2.2 times at 16 KiB); here the two losses are about equal.
inline constexpr std::size_t remote_bytes = 16 * 1024;

/// One poll copies at most this much of one message, so that other lanes are not kept waiting.
inline constexpr std::size_t piece_bytes = 256 * 1024;

/// Staged messages: sender and receiver copy cell by cell, one ahead of the other. While the cores
/// are close to each other, a ring as large as a second-level cache is 1.4 to 1.8 times as fast as
/// a smaller one.
inline constexpr std::size_t cells_per_lane = 64;
inline constexpr std::size_t cell_bytes = 16 * 1024;

inline constexpr std::size_t bootstrap_bytes = 4096;  ///< of one rank's contribution per round

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace commtune::local
