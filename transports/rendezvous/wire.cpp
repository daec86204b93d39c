#include "transports/rendezvous/wire.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "core/error.hpp"

namespace commtune::rendezvous {

std::vector<std::byte> encode(FrameType type, Rank rank, std::span<const std::byte> bytes) {
  const FrameHeader header{FrameHeader::mark, type, bytes.size(), rank, 0};
  std::vector<std::byte> whole(sizeof(header) + bytes.size());
  std::memcpy(whole.data(), &header, sizeof(header));
  std::copy(bytes.begin(), bytes.end(), whole.begin() + sizeof(header));
  return whole;
}

std::vector<std::byte> encode(FrameType type, Rank rank, const std::string& text) {
  return encode(type, rank, std::as_bytes(std::span(text)));
}

bool FrameReader::take(Frame& frame) {
  FrameHeader header{};
  const std::size_t have = buffer_.size() - used_;
  if (have < sizeof(header)) return false;
  std::memcpy(&header, buffer_.data() + used_, sizeof(header));
  if (header.magic != FrameHeader::mark || header.length > longest_frame ||
      header.type > FrameType::farewell) {
    fail(Errc::peer, "a rank sent bytes that are no message of the rendezvous");
  }
  if (have - sizeof(header) < header.length) return false;
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(used_ + sizeof(header));
  frame = {header.type, header.rank, {begin, begin + static_cast<std::ptrdiff_t>(header.length)}};
  used_ += sizeof(header) + header.length;
  if (used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
  }
  return true;
}

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& address, int port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    fail(Errc::usage, "MASTER_ADDR={}: {}", address, gai_strerror(error));
  }
  return {found, freeaddrinfo};
}

}  // namespace

Descriptor connect_to(const std::string& address, int port) {
  const Addresses addresses = resolve(address, port, 0);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor file(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (file && connect(file.fd(), each->ai_addr, each->ai_addrlen) == 0) return file;
    error = errno;
  }
  errno = error;
  return {};
}

Descriptor listen_at(const std::string& address, int port) {
  const Addresses addresses = resolve(address, port, 0);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor file(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (file) setsockopt(file.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    constexpr int backlog = 1024;
    if (file && bind(file.fd(), each->ai_addr, each->ai_addrlen) == 0 &&
        listen(file.fd(), backlog) == 0) {
      return file;
    }
    error = errno;
  }
  errno = error;
  return {};
}

void prepare_socket(int fd, double silence_s) {
  const int on = 1, every_s = std::max(1, static_cast<int>(silence_s / 4)), probes = 3;
  const auto limit_ms = static_cast<unsigned>(silence_s * 1e3);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every_s, sizeof(every_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

std::string local_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  std::array<char, NI_MAXHOST> text{};
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text.data(), text.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0) {
    return "127.0.0.1";
  }
  return text.data();
}

}  // namespace commtune::rendezvous
