#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "transports/transport.hpp"

namespace commtune {

/// What goes wrong, on the rank that has it.
enum class FaultKind : std::uint8_t {
  delay,     ///< every send is posted some polls late
  drop,      ///< one send completes, but nothing is sent
  truncate,  ///< one send loses its last byte
  corrupt,   ///< one byte of one send is changed
  die        ///< the process is killed instead of posting a send
};

struct Fault {
  FaultKind kind = FaultKind::delay;
  std::uint64_t at_send = 0;  ///< number of the send, from 0 on; delay: ignored
  std::uint64_t seed = 1;     ///< which byte is changed, how long delays are
};

/// A transport that does one thing wrong, for tests of those who use it. Everything else is passed
/// on. It takes no views, so that every message is sent and received.
class FaultyTransport final : public Transport {
 public:
  /// `real` must outlive it.
  FaultyTransport(Transport& real, const Fault& fault) : real_(real), fault_(fault) {}
  std::string_view name() const noexcept override { return real_.name(); }
  Capabilities capabilities() const noexcept override;
  Rank rank() const noexcept override { return real_.rank(); }
  Rank size() const noexcept override { return real_.size(); }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion completion) override {
    real_.post_recv(from, lane, data, completion);
  }
  std::size_t poll() override;
  std::byte* allocate(std::size_t bytes) override { return real_.allocate(bytes); }
  void deallocate(std::byte* data, std::size_t bytes) noexcept override {
    real_.deallocate(data, bytes);
  }
  std::int64_t now_ns() const noexcept override { return real_.now_ns(); }
  bool crowded() const noexcept override { return real_.crowded(); }

 private:
  struct Late {
    Rank to;
    Lane lane;
    std::span<const std::byte> data;
    Completion completion;
    std::uint64_t polls;
  };
  std::uint64_t random() noexcept;

  Transport& real_;
  Fault fault_;
  std::uint64_t sends_ = 0;
  std::deque<Late> late_;
  std::vector<Completion> dropped_;
  std::deque<std::vector<std::byte>> changed_;  ///< what was sent instead
};

}  // namespace commtune
