#include "microbench/user_buffer.hpp"

#include <memory>

namespace commtune {

UserBuffer::UserBuffer(Transport& transport, std::size_t bytes, BufferKind kind) {
  if (kind == BufferKind::registered) {
    registered_ = Buffer(transport, bytes);
    bytes_ = registered_.bytes().first(bytes);
    return;
  }
  constexpr std::size_t page = 4096;
  private_.resize(bytes + page);
  void* start = private_.data();
  std::size_t room = private_.size();
  start = std::align(page, bytes, start, room);
  bytes_ = {static_cast<std::byte*>(start), bytes};
}

}  // namespace commtune
