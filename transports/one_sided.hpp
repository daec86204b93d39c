#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "transports/transport.hpp"

namespace commtune {

/// Memory of every rank of a job that all of them may write and read. Transfers are reported by the
/// transport's poll() like messages; those to one rank are in no order but by flush. The rank whose
/// memory it is takes no part, but must poll: some runtimes move its bytes from there.
/// Like MPI_Win_allocate with passive target synchronisation (MPI 3.1, chapter 11).
class Region {
 public:
  /// Frees this rank's memory: call after a barrier, when nobody uses it any more.
  virtual ~Region() = default;
  /// This rank's own part: page-aligned, zeroed.
  virtual std::span<std::byte> mine() noexcept = 0;
  virtual std::size_t bytes(Rank) const noexcept = 0;
  /// Writes `data` at `offset` of rank `to`'s part. Complete: `data` may be used again; the bytes
  /// are there only after a flush. Throws Error(usage) when they do not fit, naming both.
  virtual void post_put(Rank to, std::size_t offset, std::span<const std::byte> data,
                        Completion) = 0;
  /// Reads `data.size()` bytes at `offset` of rank `from`'s part. Complete: they are here.
  virtual void post_get(Rank from, std::size_t offset, std::span<std::byte> data, Completion) = 0;
  /// Complete: every put to `to` that was posted before is in its memory.
  virtual void post_flush(Rank to, Completion) = 0;
};

/// The part of a transport that makes regions.
class OneSided {
 public:
  /// Collective. `bytes` may differ between ranks and may be 0. The region must not outlive the
  /// transport. Throws Error(system) on a rank that has no such memory left.
  virtual std::unique_ptr<Region> allocate_region(Bootstrap&, std::size_t bytes) = 0;

 protected:
  ~OneSided() = default;
};

/// Throws Error(usage) unless `bytes` at `offset` lie within the `size` bytes of rank `peer`, one
/// of `ranks`.
void check_region_access(Rank peer, Rank ranks, std::size_t offset, std::size_t bytes,
                         std::size_t size);

}  // namespace commtune
