#include "transports/transport.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/one_sided.hpp"

namespace commtune {

namespace {

constexpr std::size_t page = 4096;

class Flag final : public Sink {
 public:
  void complete(std::uint32_t) noexcept override { done_ = true; }
  void wait(Transport& transport) const {
    Backoff backoff(transport.crowded());
    while (!done_) {
      if (transport.poll() == 0) {
        backoff.pause();
      } else {
        backoff.reset();
      }
    }
  }

 private:
  bool done_ = false;
};

}  // namespace

void Transport::send(Rank to, std::span<const std::byte> data) {
  Flag flag;
  post_send(to, 0, data, {&flag, 0});
  flag.wait(*this);
}

void Transport::recv(Rank from, std::span<std::byte> data) {
  Flag flag;
  post_recv(from, 0, data, {&flag, 0});
  flag.wait(*this);
}

void Transport::post_view(Rank, Lane, std::size_t, View&, Completion) {
  fail(Errc::usage, "transport {} cannot show messages in place", name());
}

void Transport::release_view(const View&) noexcept {}

void check_region_access(Rank peer, Rank ranks, std::size_t offset, std::size_t bytes,
                         std::size_t size) {
  require(peer >= 0 && peer < ranks, "rank {} is not one of the {} ranks", peer, ranks);
  require(offset <= size && bytes <= size - offset,
          "{} bytes at {} do not lie in the {} bytes of rank {}'s part of the region", bytes,
          offset, size, peer);
}

std::byte* Transport::allocate(std::size_t bytes) {
  const std::size_t length = (bytes + page - 1) / page * page;
  void* const data =
      ::operator new (length == 0 ? page : length, std::align_val_t{page}, std::nothrow);
  if (data == nullptr || length < bytes) {
    fail(Errc::system, "rank {} cannot allocate {} bytes: out of memory", rank(), bytes);
  }
  std::memset(data, 0, length);
  return static_cast<std::byte*>(data);
}

void Transport::deallocate(std::byte* data, std::size_t) noexcept {
  ::operator delete (data, std::align_val_t{page});
}

bool Transport::shares(std::span<const std::byte>) const noexcept { return false; }

std::int64_t Transport::now_ns() const noexcept { return monotonic_ns(); }

Buffer::Buffer(Transport& transport, std::size_t bytes)
    : transport_(&transport), data_(transport.allocate(bytes)), bytes_(bytes) {
  for (std::size_t at = 0; at < bytes; at += page) {
    static_cast<volatile std::byte*>(data_)[at] = std::byte{0};
  }
}

Buffer::~Buffer() {
  if (transport_ != nullptr) transport_->deallocate(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : transport_(std::exchange(other.transport_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(transport_, other.transport_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace commtune
