#include "transports/rendezvous/hub.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/secret.hpp"

namespace commtune::rendezvous {
namespace {

constexpr std::size_t most_strangers = 64;  ///< connections that have not proved anything yet
constexpr double stranger_s = 5;            ///< they get so long
constexpr double farewell_s = 5;
constexpr int tick_ms = 100;

double seconds_since(std::int64_t begin_ns) {
  return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
}

}  // namespace

Hub::Hub(const Rendezvous& about)
    : about_(about),
      listener_(listen_at(about.address, about.port)),
      members_(static_cast<std::size_t>(about.size)),
      parts_(members_.size()),
      contributed_(members_.size()),
      begun_ns_(monotonic_ns()) {
  if (!listener_) {
    fail(Errc::system, "rank 0 cannot listen on MASTER_ADDR={} MASTER_PORT={}: {}", about.address,
         about.port, std::strerror(errno));
  }
  thread_ = std::thread([this] { run(); });
}

Hub::~Hub() {
  stop_.store(true, std::memory_order_release);
  thread_.join();
}

void Hub::run() {
  std::int64_t stopping_ns = 0;
  std::vector<pollfd> files;
  for (;;) {
    if (stop_.load(std::memory_order_acquire)) {
      if (stopping_ns == 0) stopping_ns = monotonic_ns();
      const bool told = std::all_of(connections_.begin(), connections_.end(), [](const auto& each) {
        return each->closed || each->out.empty();
      });
      if ((told && (failed_ || said_farewell_)) || seconds_since(stopping_ns) > farewell_s) return;
    }
    files.assign(1, {listener_.fd(), POLLIN, 0});
    for (const auto& each : connections_) {
      files.push_back(
          {each->file.fd(), static_cast<short>(each->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    poll(files.data(), files.size(), tick_ms);
    const std::size_t known = connections_.size();
    for (std::size_t i = 0; i < known; ++i) {
      Connection& each = *connections_[i];
      if ((files[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(each);
      if (!each.closed && (files[i + 1].revents & POLLOUT) != 0) write_to(each);
    }
    if ((files[0].revents & POLLIN) != 0) accept_new();
    look_at_the_clock();
    connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                      [](const auto& each) { return each->closed; }),
                       connections_.end());
  }
}

void Hub::accept_new() {
  Descriptor file(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!file) return;
  const auto strangers = std::count_if(connections_.begin(), connections_.end(),
                                       [](const auto& each) { return each->rank < 0; });
  if (static_cast<std::size_t>(strangers) >= most_strangers) return;
  prepare_socket(file.fd(), about_.silence_s);
  auto connection = std::make_unique<Connection>();
  connection->file = std::move(file);
  connection->since_ns = connection->heard_ns = monotonic_ns();
  connections_.push_back(std::move(connection));
}

void Hub::read_from(Connection& from) {
  std::array<std::byte, 65536> buffer;
  const std::size_t most = from.rank < 0 ? sizeof(Hello) - from.hello.size() : buffer.size();
  const ssize_t got = recv(from.file.fd(), buffer.data(), most, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    from.closed = true;
    if (from.rank < 0) return;
    members_[static_cast<std::size_t>(from.rank)] = nullptr;
    if (!from.leaving) lose(from.rank, "its process ended or its host was lost");
    return;
  }
  from.heard_ns = monotonic_ns();
  const std::span<const std::byte> bytes(buffer.data(), static_cast<std::size_t>(got));
  if (from.rank < 0) return take_hello(from, bytes);
  from.frames.add(bytes);
  try {
    Frame frame;
    while (from.frames.take(frame)) handle(from, frame);
  } catch (const Error& error) {
    lose(from.rank, error.what());
  }
}

void Hub::take_hello(Connection& from, std::span<const std::byte> bytes) {
  from.hello.insert(from.hello.end(), bytes.begin(), bytes.end());
  if (from.hello.size() < sizeof(Hello)) return;
  Hello hello{};
  std::memcpy(&hello, from.hello.data(), sizeof(hello));
  std::string expected = about_.secret;
  expected.resize(secret_bytes);
  if (!same_secret({hello.secret.data(), secret_bytes}, expected)) {
    std::fprintf(stderr,
                 "commtune: rendezvous: turned away a connection without the job's secret\n");
    return turn_away(from, "COMMTUNE_SECRET differs from that of rank 0");
  }
  if (hello.magic != Hello::mark) return turn_away(from, "another version of this program");
  if (hello.size != about_.size) {
    return turn_away(from, fmt::format("it was started as one of {} ranks, rank 0 as one of {}",
                                       hello.size, about_.size));
  }
  if (hello.rank < 0 || hello.rank >= about_.size ||
      members_[static_cast<std::size_t>(hello.rank)] != nullptr || welcomed_) {
    return turn_away(from, fmt::format("there is a rank {} already", hello.rank));
  }
  from.rank = hello.rank;
  admit(from);
}

void Hub::admit(Connection& from) {
  members_[static_cast<std::size_t>(from.rank)] = &from;
  if (++arrived_ < members_.size()) return;
  welcomed_ = true;
  broadcast(encode(FrameType::welcome, 0, random_secret()));
}

void Hub::turn_away(Connection& from, const std::string& why) {
  const std::vector<std::byte> frame = encode(FrameType::refused, 0, why);
  send(from.file.fd(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  from.closed = true;
}

void Hub::handle(Connection& from, const Frame& frame) {
  const auto rank = static_cast<std::size_t>(from.rank);
  switch (frame.type) {
    case FrameType::part:
      if (contributed_[rank]) return lose(from.rank, "it contributed twice to one exchange");
      contributed_[rank] = true;
      parts_[rank] = frame.bytes;
      if (++parts_here_ == members_.size()) complete_round();
      return;
    case FrameType::failed:
      return lose(from.rank, frame.text());
    case FrameType::leaving:
      from.leaving = true;
      if (!said_farewell_ && all_leaving()) {
        said_farewell_ = true;
        broadcast(encode(FrameType::farewell, 0));
      }
      return;
    case FrameType::pong:
      return;
    case FrameType::welcome:
    case FrameType::refused:
    case FrameType::whole:
    case FrameType::ping:
    case FrameType::farewell:
      return lose(from.rank, "it sent a message that only rank 0 may send");
  }
}

void Hub::complete_round() {
  const std::size_t bytes = parts_[0].size();
  std::vector<std::byte> whole;
  whole.reserve(bytes * parts_.size());
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    if (parts_[rank].size() != bytes) {
      return lose(static_cast<Rank>(rank),
                  fmt::format("it contributes {} bytes to an exchange and rank 0 {} bytes",
                              parts_[rank].size(), bytes));
    }
    whole.insert(whole.end(), parts_[rank].begin(), parts_[rank].end());
    parts_[rank].clear();
  }
  contributed_.assign(contributed_.size(), false);
  parts_here_ = 0;
  broadcast(encode(FrameType::whole, 0, whole));
}

void Hub::broadcast(std::vector<std::byte> frame) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(frame));
  for (Connection* const member : members_) {
    if (member == nullptr) continue;
    member->out.push_back(bytes);
    if (member->out.size() == 1) write_to(*member);
  }
}

void Hub::write_to(Connection& to) {
  while (!to.out.empty()) {
    const std::vector<std::byte>& bytes = *to.out.front();
    const ssize_t sent = send(to.file.fd(), bytes.data() + to.out_used, bytes.size() - to.out_used,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return;  // a broken connection shows when it is read
    to.out_used += static_cast<std::size_t>(sent);
    if (to.out_used < bytes.size()) return;
    to.out.pop_front();
    to.out_used = 0;
  }
}

void Hub::lose(Rank rank, const std::string& why) {
  if (failed_) return;
  failed_ = true;
  broadcast(encode(FrameType::failed, rank, why));
}

void Hub::look_at_the_clock() {
  for (const auto& each : connections_) {
    if (each->rank < 0 && seconds_since(each->since_ns) > stranger_s) each->closed = true;
  }
  if (failed_) return;
  if (!welcomed_) {
    if (seconds_since(begun_ns_) > about_.timeout_s) lose(-1, missing_ranks());
    return;
  }
  for (Rank rank = 0; rank < about_.size; ++rank) {
    const Connection* const member = members_[static_cast<std::size_t>(rank)];
    if (member == nullptr || member->leaving) continue;
    if (seconds_since(member->heard_ns) > about_.silence_s) {
      return lose(rank, fmt::format("it has not answered for {:g} s", about_.silence_s));
    }
  }
  if (seconds_since(pinged_ns_) < about_.silence_s / 4) return;
  pinged_ns_ = monotonic_ns();
  broadcast(encode(FrameType::ping, 0));
}

std::string Hub::missing_ranks() const {
  std::string text;
  std::size_t missing = 0;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    constexpr std::size_t most_named = 16;
    if (members_[rank] != nullptr || ++missing > most_named) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  }
  return fmt::format("{} of {} ranks did not come within {:g} s: {}{}", missing, members_.size(),
                     about_.timeout_s, text, missing > 16 ? ", ..." : "");
}

bool Hub::all_leaving() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Connection* member) { return member == nullptr || member->leaving; });
}

}  // namespace commtune::rendezvous
