// Frames of the rendezvous: the first byte says in pieces of which size the others arrive.
#include <algorithm>

#include "fuzz.hpp"
#include "transports/rendezvous/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  using namespace commtune::rendezvous;
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  auto bytes = fuzz::bytes_of(data + 1, size - 1);
  FrameReader reader;
  fuzz::accepts([&] {
    while (!bytes.empty()) {
      const std::size_t now = std::min(piece, bytes.size());
      reader.add(bytes.first(now));
      bytes = bytes.subspan(now);
      for (Frame frame; reader.take(frame);) {
        FrameReader second;
        second.add(encode(frame.type, frame.rank, frame.bytes));
        Frame copy;
        fuzz::expect(second.take(copy) && copy.type == frame.type && copy.rank == frame.rank &&
                         copy.bytes == frame.bytes && !second.take(copy),
                     "what is written reads the same");
      }
    }
  });
  return 0;
}
