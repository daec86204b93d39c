#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/rendezvous/hub.hpp"
#include "transports/rendezvous/rendezvous.hpp"
#include "transports/rendezvous/wire.hpp"

namespace commtune {
namespace rendezvous {
namespace {

Descriptor reach_hub(const Rendezvous& about) {
  const std::int64_t begin = monotonic_ns();
  for (;;) {
    Descriptor file = connect_to(about.address, about.port);
    if (file) return file;
    if (static_cast<double>(monotonic_ns() - begin) * 1e-9 > about.timeout_s) {
      fail(Errc::peer, "rank {} cannot reach rank 0 at MASTER_ADDR={} MASTER_PORT={}: {}",
           about.rank, about.address, about.port, std::strerror(errno));
    }
    const timespec nap{0, 50'000'000};
    nanosleep(&nap, nullptr);
  }
}

/// One rank's connection to the hub. A thread of its own answers the hub and hears of failures
/// while the rank is at work.
class Link final : public Bootstrap, public JobHealth {
 public:
  explicit Link(const Rendezvous&);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Rank rank() const noexcept override { return about_.rank; }
  Rank size() const noexcept override { return about_.size; }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void barrier() override { allgather({}, {}); }
  bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  std::string secret();
  std::string address() const { return local_address(file_.fd()); }
  void tell(FrameType, const std::string& text);

 private:
  [[noreturn]] void throw_failure() const override;
  void listen();
  void handle(Frame);
  void set_failure(std::string text);
  /// Waits until `ready`, the job has failed or `limit_s` is over.
  template <class Ready>
  bool wait(double limit_s, const Ready& ready);
  void write(std::span<const std::byte>);

  Rendezvous about_;
  Descriptor file_;
  std::mutex write_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<std::byte>> whole_;
  std::string secret_, failure_;
  bool farewell_ = false;
  std::atomic<bool> failed_{false}, stop_{false};
  std::thread listener_;
};

Link::Link(const Rendezvous& about) : about_(about), file_(reach_hub(about)) {
  prepare_socket(file_.fd(), about.silence_s);
  Hello hello{{}, Hello::mark, about.rank, about.size};
  about.secret.copy(hello.secret.data(), hello.secret.size());
  write(std::as_bytes(std::span(&hello, 1)));
  listener_ = std::thread([this] { listen(); });
}

Link::~Link() {
  if (!failed()) {
    constexpr double farewell_s = 5;
    tell(FrameType::leaving, {});
    wait(farewell_s, [this] { return farewell_; });
  }
  stop_.store(true, std::memory_order_release);
  listener_.join();
}

void Link::listen() {
  FrameReader frames;
  std::vector<std::byte> buffer(std::size_t{1} << 18U);
  while (!stop_.load(std::memory_order_acquire)) {
    pollfd file{file_.fd(), POLLIN, 0};
    constexpr int tick_ms = 100;
    if (poll(&file, 1, tick_ms) <= 0) continue;
    const ssize_t got = recv(file_.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      const std::lock_guard lock(mutex_);
      if (farewell_) return;
      return set_failure("rank 0 failed: its process ended or its host was lost");
    }
    try {
      frames.add({buffer.data(), static_cast<std::size_t>(got)});
      for (Frame frame; frames.take(frame);) handle(std::move(frame));
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      return set_failure(error.what());
    }
  }
}

void Link::handle(Frame frame) {
  if (frame.type == FrameType::ping) return tell(FrameType::pong, {});
  const std::lock_guard lock(mutex_);
  if (frame.type == FrameType::welcome) secret_ = frame.text();
  if (frame.type == FrameType::whole) whole_ = std::move(frame.bytes);
  if (frame.type == FrameType::farewell) farewell_ = true;
  if (frame.type == FrameType::refused) {
    set_failure(fmt::format("rank 0 turned rank {} away: {}", about_.rank, frame.text()));
  }
  if (frame.type == FrameType::failed) {
    set_failure(frame.rank < 0 ? frame.text()
                               : fmt::format("rank {} failed: {}", frame.rank, frame.text()));
  }
  changed_.notify_all();
}

/// With mutex_ held.
void Link::set_failure(std::string text) {
  if (failure_.empty()) failure_ = std::move(text);
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

template <class Ready>
bool Link::wait(double limit_s, const Ready& ready) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                    [&] { return ready() || failed(); });
  return ready();
}

void Link::write(std::span<const std::byte> bytes) {
  const std::lock_guard lock(write_mutex_);
  while (!bytes.empty()) {
    const ssize_t sent = send(file_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the listener learns why
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void Link::tell(FrameType type, const std::string& text) { write(encode(type, about_.rank, text)); }

void Link::throw_failure() const {
  const std::lock_guard lock(mutex_);
  fail(Errc::peer, "{}", failure_);
}

std::string Link::secret() {
  // The hub gives up first and says who is missing.
  constexpr double later_s = 5;
  if (!wait(about_.timeout_s + later_s, [this] { return !secret_.empty(); })) {
    throw_if_failed();
    fail(Errc::peer, "rank 0 at {} did not answer within {:g} s", about_.address,
         about_.timeout_s + later_s);
  }
  const std::lock_guard lock(mutex_);
  return secret_;
}

void Link::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size());
  require(all.size() == n * mine.size(),
          "allgather of {} bytes from {} ranks needs a result of {} bytes, not {}", mine.size(), n,
          n * mine.size(), all.size());
  throw_if_failed();
  write(encode(FrameType::part, about_.rank, mine));
  constexpr double for_ever_s = 1e7;
  wait(for_ever_s, [this] { return whole_.has_value(); });
  const std::lock_guard lock(mutex_);
  if (!whole_) fail(Errc::peer, "{}", failure_);
  const std::vector<std::byte> whole = std::move(*whole_);
  whole_.reset();
  if (whole.size() != all.size()) {
    fail(Errc::peer, "an exchange of {} bytes brought {}", all.size(), whole.size());
  }
  if (!whole.empty()) std::memcpy(all.data(), whole.data(), whole.size());
}

class RendezvousMembership final : public Membership {
 public:
  explicit RendezvousMembership(const Rendezvous& about)
      : hub_(about.rank == 0 ? std::make_unique<Hub>(about) : nullptr),
        link_(about),
        secret_(link_.secret()) {}
  Bootstrap& bootstrap() override { return link_; }
  const JobHealth& health() const noexcept override { return link_; }
  std::string address() override { return link_.address(); }
  std::string secret() override { return secret_; }
  [[noreturn]] void abort(int status) override {
    link_.tell(FrameType::failed, fmt::format("it ended with status {}", status));
    // The hub passes it on from a thread of this process.
    const timespec moment{0, hub_ == nullptr ? 0 : 300'000'000};
    nanosleep(&moment, nullptr);
    _exit(status);
  }

 private:
  std::unique_ptr<Hub> hub_;
  Link link_;
  std::string secret_;
};

}  // namespace
}  // namespace rendezvous

Rendezvous rendezvous_from_environment(const LauncherEnvironment& launcher) {
  const auto value = [](const char* name) -> std::string {
    const char* const text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  Rendezvous about{
      launcher.rank, launcher.size, value("MASTER_ADDR"), 0, value("COMMTUNE_SECRET"), 60, 10};
  const std::string port = value("MASTER_PORT");
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), about.port);
  constexpr int last_port = 65535;
  require(problem == std::errc{} && end == port.data() + port.size() && about.port > 0 &&
              about.port <= last_port,
          "MASTER_PORT=\"{}\": must be a port number, equal on all ranks", port);
  require(about.secret.size() >= rendezvous::shortest_secret &&
              about.secret.size() <= rendezvous::secret_bytes,
          "COMMTUNE_SECRET: set it to the same {} to {} random characters on all ranks, for "
          "example $(openssl rand -hex 16)",
          rendezvous::shortest_secret, rendezvous::secret_bytes);
  return about;
}

std::unique_ptr<Membership> join_rendezvous(const Rendezvous& about) {
  return std::make_unique<rendezvous::RendezvousMembership>(about);
}

}  // namespace commtune
