#include "transports/grpc/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace commtune::grpc {
namespace {

/// Calls `use` with each piece of the message behind its first `skip` bytes.
template <class Use>
void for_each_piece(const ::grpc::ByteBuffer& buffer, std::size_t skip, const Use& use) {
  std::vector<::grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) fail(Errc::peer, "gRPC cannot show a received message");
  for (const ::grpc::Slice& slice : slices) {
    const std::size_t gone = std::min(skip, slice.size());
    skip -= gone;
    if (gone < slice.size()) use(slice.begin() + gone, slice.size() - gone);
  }
}

}  // namespace

Chunk Chunk::parse(::grpc::ByteBuffer buffer, Rank from) {
  Chunk chunk;
  const std::size_t whole = buffer.Length();
  std::size_t have = 0;
  for_each_piece(buffer, 0, [&](const std::uint8_t* data, std::size_t bytes) {
    const std::size_t wanted = std::min(bytes, sizeof(Header) - have);
    std::memcpy(reinterpret_cast<std::byte*>(&chunk.header) + have, data, wanted);
    have += wanted;
  });
  const Header& header = chunk.header;
  const bool valid = have == sizeof(Header) && header.magic == Header::mark &&
                     header.lane < lane_count && header.offset <= header.total &&
                     whole - sizeof(Header) <= header.total - header.offset;
  if (!valid)
    fail(Errc::peer, "rank {} sent a gRPC message of {} bytes that is no transfer", from, whole);
  chunk.length = whole - sizeof(Header);
  chunk.buffer = std::move(buffer);
  return chunk;
}

void Chunk::copy_to(std::span<std::byte> to) const {
  for_each_piece(buffer, sizeof(Header), [&](const std::uint8_t* data, std::size_t bytes) {
    std::memcpy(to.data(), data, bytes);
    to = to.subspan(bytes);
  });
}

}  // namespace commtune::grpc
