#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "core/types.hpp"

namespace commtune::rendezvous {

inline constexpr std::size_t secret_bytes = 64;  ///< shorter secrets are padded with zeros
inline constexpr std::size_t shortest_secret = 16;

/// The first bytes of a connection. The secret comes first and is compared before the rest is
/// looked at.
struct Hello {
  std::array<char, secret_bytes> secret;
  std::uint64_t magic;
  std::int32_t rank, size;
  static constexpr std::uint64_t mark = 0x636f6d6d74756e32;
};

enum class FrameType : std::uint32_t {
  welcome,  ///< hub: everybody is here; the job's secret
  refused,  ///< hub: why this rank may not take part
  part,     ///< member: what it contributes to a round
  whole,    ///< hub: the contributions of all ranks
  failed,   ///< both: `rank` failed, and why
  ping,     ///< hub
  pong,     ///< member
  leaving,  ///< member: has nothing more to ask
  farewell  ///< hub: everybody is leaving
};

struct FrameHeader {
  std::uint32_t magic;
  FrameType type;
  std::uint64_t length;  ///< bytes that follow
  std::int32_t rank;     ///< of `failed`
  std::uint32_t reserved;
  static constexpr std::uint32_t mark = 0x63746e72;
};
inline constexpr std::uint64_t longest_frame = std::uint64_t{4} << 30U;

struct Frame {
  FrameType type{};
  Rank rank = 0;
  std::vector<std::byte> bytes;
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

std::vector<std::byte> encode(FrameType, Rank rank, std::span<const std::byte> bytes = {});
std::vector<std::byte> encode(FrameType, Rank rank, const std::string& text);

/// Collects bytes until a frame is whole.
class FrameReader {
 public:
  void add(std::span<const std::byte> bytes) {
    if (used_ > buffer_.size() / 2) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
      used_ = 0;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  /// Takes the next whole frame; false when there is none yet. Throws Error(peer) on bytes that
  /// are no frame.
  bool take(Frame&);
  /// Bytes in memory: what waits to be taken and, for a while, what was taken.
  std::size_t held() const noexcept { return buffer_.size(); }

 private:
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

/// A connected or listening stream socket to `address` and `port`; an empty Descriptor with `errno`
/// when it cannot be had. Throws Error(usage) when the name means nothing.
Descriptor connect_to(const std::string& address, int port);
Descriptor listen_at(const std::string& address, int port);
/// Small messages leave at once; a host that vanished is noticed within `silence_s`.
void prepare_socket(int fd, double silence_s);
/// The numeric address of this end.
std::string local_address(int fd);

}  // namespace commtune::rendezvous
