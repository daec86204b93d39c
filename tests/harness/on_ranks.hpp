#pragma once
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Runs `body` on every rank of a `threads` job. The ranks live in another process, so a body
/// reports by throwing.
inline Outcome outcome_of(int ranks, const std::function<void(Job&)>& body) {
  LaunchOptions launch;
  launch.transport = "threads";
  launch.ranks = ranks;
  return run_job(launch, [&](Job& job) {
    body(job);
    return 0;
  });
}

inline void on_ranks(int ranks, const std::function<void(Job&)>& body) {
  const Outcome outcome = outcome_of(ranks, body);
  EXPECT_EQ(outcome.status, 0) << ranks << " ranks: " << outcome.reason;
}

inline void check(bool condition, const std::string& what) {
  if (!condition) fail(Errc::wrong_result, "{}", what);
}

/// A clock that is wrong by a fixed amount and gains on the true one.
struct Skew {
  std::int64_t offset_ns = 0, ppm = 0;
};

/// A transport whose clock has a skew. True time is this host's, moved on by advance() instead of
/// waiting; all ranks of a test do so at the same points.
class SkewedClock final : public Transport {
 public:
  struct Look {
    std::int64_t shown_ns, true_ns;
  };

  SkewedClock(Transport& inner, const Skew& skew) : inner_(inner), skew_(skew) {}
  void advance(std::int64_t ns) { advanced_ns_ += ns; }
  /// Every look at the clock then takes this long.
  void tick(std::int64_t ns) { tick_ns_ = ns; }
  const std::vector<Look>& looks() const { return looks_; }

  std::string_view name() const noexcept override { return inner_.name(); }
  Capabilities capabilities() const noexcept override { return inner_.capabilities(); }
  Rank rank() const noexcept override { return inner_.rank(); }
  Rank size() const noexcept override { return inner_.size(); }
  void post_send(Rank to, Lane lane, std::span<const std::byte> data, Completion done) override {
    inner_.post_send(to, lane, data, done);
  }
  void post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion done) override {
    inner_.post_recv(from, lane, data, done);
  }
  std::size_t poll() override { return inner_.poll(); }
  std::int64_t now_ns() const noexcept override {
    advanced_ns_ += tick_ns_;
    const std::int64_t now = inner_.now_ns() + advanced_ns_;
    looks_.push_back({now + now / 1000 * skew_.ppm / 1000 + skew_.offset_ns, now});
    return looks_.back().shown_ns;
  }
  bool crowded() const noexcept override { return inner_.crowded(); }

 private:
  Transport& inner_;
  Skew skew_;
  mutable std::int64_t advanced_ns_ = 0;
  std::int64_t tick_ns_ = 0;
  mutable std::vector<Look> looks_;
};

}  // namespace commtune
