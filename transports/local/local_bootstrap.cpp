#include "transports/local/local_bootstrap.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "core/error.hpp"

namespace commtune::local {

void LocalBootstrap::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size());
  require(all.size() == n * mine.size(),
          "allgather of {} bytes from {} ranks needs a result of {} bytes, not {}", mine.size(), n,
          n * mine.size(), all.size());
  std::size_t offset = 0;
  do {
    const std::size_t length = std::min(bootstrap_bytes, mine.size() - offset);
    exchange(mine.subspan(offset, length), mine.size());
    for (std::size_t peer = 0; length > 0 && peer < n; ++peer) {
      const BootstrapCell& cell = board_.bootstrap(static_cast<Rank>(peer));
      std::memcpy(all.data() + peer * mine.size() + offset, cell.data[round_ % 2], length);
    }
    offset += length;
  } while (offset < mine.size());
}

void LocalBootstrap::barrier() { exchange({}, 0); }

// Two buffers are enough: a rank shows round k only after it has read all of round k-1, and round
// k+1 overwrites k-1 only after everybody has shown k.
void LocalBootstrap::exchange(std::span<const std::byte> part, std::size_t total) {
  ++round_;
  BootstrapCell& own = board_.bootstrap(rank_);
  own.total_bytes[round_ % 2] = total;
  if (!part.empty()) std::memcpy(own.data[round_ % 2], part.data(), part.size());
  own.round.store(round_, std::memory_order_release);
  for (Rank peer = 0; peer < size(); ++peer) wait_for(peer);
  for (Rank peer = 0; peer < size(); ++peer) {
    const std::uint64_t theirs = board_.bootstrap(peer).total_bytes[round_ % 2];
    if (theirs != total) {
      fail(Errc::peer, "rank {} contributes {} bytes to an exchange and rank {} {} bytes", peer,
           theirs, rank_, total);
    }
  }
}

void LocalBootstrap::wait_for(Rank peer) const {
  const std::atomic<std::uint64_t>& theirs = board_.bootstrap(peer).round;
  for (int spins = 0; theirs.load(std::memory_order_acquire) < round_; ++spins) {
    constexpr int short_spin = 200;
    if (spins < short_spin) continue;
    // A rank may have shown its part before it failed, so look again after the failure is seen.
    if (board_.failed() && theirs.load(std::memory_order_acquire) < round_) {
      board_.throw_if_failed();
    }
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace commtune::local
