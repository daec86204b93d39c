#include "conformance.hpp"

#include "core/backoff.hpp"
#include "core/clock.hpp"

namespace commtune::test {

template <class Done>
void Counter::poll_until(Transport& transport, const Done& done) const {
  constexpr std::int64_t limit_ns = 30'000'000'000;
  const std::int64_t begin = monotonic_ns();
  Backoff backoff(transport.crowded());
  while (!done()) {
    if (transport.poll() > 0) {
      backoff.reset();
    } else if (backoff.pause() && monotonic_ns() - begin > limit_ns) {
      fail(Errc::timeout, "{} transfers finished and no more", total_);
    }
  }
}

void Counter::wait(Transport& transport, std::size_t total) const {
  poll_until(transport, [&] { return total_ >= total; });
}

void Counter::wait_for(Transport& transport, std::size_t id) const {
  poll_until(transport, [&] { return seen_[id] > 0; });
}

std::byte pattern(Rank from, Rank to, std::size_t number, std::size_t offset) {
  std::uint64_t x = static_cast<std::uint64_t>(from) * 0x9e3779b97f4a7c15U ^
                    static_cast<std::uint64_t>(to) * 0xbf58476d1ce4e5b9U ^
                    number * 0x94d049bb133111ebU;
  x += offset * 0x2545f4914f6cdd1dU;
  x ^= x >> 29U;
  x *= 0xff51afd7ed558ccdU;
  return static_cast<std::byte>(x >> 56U);
}

void fill(std::span<std::byte> data, Rank from, Rank to, std::size_t number) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(from, to, number, i);
}

void expect_pattern(std::span<const std::byte> data, Rank from, Rank to, std::size_t number) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    expect(data[i] == pattern(from, to, number, i),
           "byte {} of {} of message {} from rank {} to rank {} is {}, expected {}", i, data.size(),
           number, from, to, static_cast<int>(data[i]),
           static_cast<int>(pattern(from, to, number, i)));
  }
}

}  // namespace commtune::test
