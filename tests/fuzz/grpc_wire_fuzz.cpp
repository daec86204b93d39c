// Messages of the gRPC transport: the first byte says in slices of which size they lie in memory.
#include <algorithm>
#include <grpcpp/impl/grpc_library.h>
#include <vector>

#include "fuzz.hpp"
#include "transports/grpc/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  using commtune::grpc::Chunk;
  using commtune::grpc::Header;
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  std::vector<::grpc::Slice> slices;
  for (std::size_t at = 1; at < size; at += piece)
    slices.emplace_back(data + at, std::min(piece, size - at));
  fuzz::accepts([&] {
    const Chunk chunk = Chunk::parse(::grpc::ByteBuffer(slices.data(), slices.size()), 1);
    fuzz::expect(chunk.length == size - 1 - sizeof(Header) &&
                     chunk.length <= chunk.header.total - chunk.header.offset,
                 "a chunk lies inside its transfer");
    std::vector<std::byte> bytes(chunk.length);
    chunk.copy_to(bytes);
    fuzz::expect(std::ranges::equal(bytes, fuzz::bytes_of(data, size).subspan(1 + sizeof(Header))),
                 "all bytes arrive");
  });
  return 0;
}
