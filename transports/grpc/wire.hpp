#pragma once
#include <cstddef>
#include <cstdint>
#include <grpcpp/support/byte_buffer.h>
#include <span>

#include "transports/transport.hpp"

namespace commtune::grpc {

/// One gRPC message is this header and then bytes [offset, offset + length) of a transfer. Both
/// ends are the same program, so it travels as it lies in memory.
struct Header {
  std::uint64_t total;  ///< bytes of the whole transfer
  std::uint64_t offset;
  Lane lane;
  std::uint32_t magic;  ///< Header::mark
  static constexpr std::uint32_t mark = 0x63746731;
};

/// Transfers are cut: gRPC's own length field has 32 bits, and other lanes want to get through.
inline constexpr std::size_t chunk_bytes = std::size_t{4} << 20U;
/// Up to here copying is cheaper than keeping account of the caller's memory.
inline constexpr std::size_t copied_bytes = 4096;

inline constexpr const char* method = "/commtune.Transport/Stream";
inline constexpr const char* secret_key = "commtune-secret";
inline constexpr const char* rank_key = "commtune-rank";

/// Something that gRPC's completion queue reports back to.
class Event {
 public:
  /// `ok` as CompletionQueue::Next gives it. May throw Error.
  virtual void proceed(bool ok) = 0;

 protected:
  ~Event() = default;
};

/// A received chunk. Throws Error(peer) on bytes that no rank of this program sends.
struct Chunk {
  Header header{};
  ::grpc::ByteBuffer buffer;
  std::size_t length = 0;  ///< bytes after the header
  /// Takes `buffer` apart. `from` is for messages.
  static Chunk parse(::grpc::ByteBuffer buffer, Rank from);
  /// Copies the bytes after the header to `to`, which holds `length`.
  void copy_to(std::span<std::byte> to) const;
};

}  // namespace commtune::grpc
