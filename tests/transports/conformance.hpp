#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "transports/job.hpp"

namespace commtune::test {

/// One promise of the transport contract, run collectively by every rank of a job. Throws
/// Error(wrong_result) when it is not kept; assertions of the test framework are invisible in a
/// forked rank.
struct Check {
  const char* name;
  void (*run)(Job&);
};
std::span<const Check> message_checks();
std::span<const Check> order_checks();
std::span<const Check> set_up_checks();
std::span<const Check> view_checks();
std::span<const Check> one_sided_checks();  ///< and the other optional capabilities

template <class... Args>
void expect(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(Errc::wrong_result, text, std::forward<Args>(args)...);
}

/// Counts completions by id.
class Counter final : public Sink {
 public:
  explicit Counter(std::size_t ids = 1) : seen_(ids, 0) {}
  void complete(std::uint32_t id) noexcept override {
    ++seen_[id];
    ++total_;
  }
  Completion id(std::size_t value = 0) { return {this, static_cast<std::uint32_t>(value)}; }
  std::size_t seen(std::size_t id) const { return seen_[id]; }
  /// Polls until `total` completions came; throws Error(timeout) after 30 s.
  void wait(Transport& transport, std::size_t total) const;
  /// The same until `id` completed.
  void wait_for(Transport& transport, std::size_t id) const;

 private:
  template <class Done>
  void poll_until(Transport& transport, const Done& done) const;

  std::vector<std::size_t> seen_;
  std::size_t total_ = 0;
};

/// The byte at `offset` of message `number` from `from` to `to`: no two messages share a prefix.
std::byte pattern(Rank from, Rank to, std::size_t number, std::size_t offset);
void fill(std::span<std::byte> data, Rank from, Rank to, std::size_t number);
/// Throws naming the first wrong byte.
void expect_pattern(std::span<const std::byte> data, Rank from, Rank to, std::size_t number);

}  // namespace commtune::test
