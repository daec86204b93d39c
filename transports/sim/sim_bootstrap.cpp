#include "transports/sim/sim_bootstrap.hpp"

#include <cstring>
#include <mutex>

#include "core/error.hpp"

namespace commtune::sim {

void SimBootstrap::meet() {
  exchange_.health_.throw_if_failed();
  std::unique_lock<simgrid::s4u::Mutex> lock(*exchange_.mutex_);
  if (++exchange_.here_ == exchange_.ranks_) {
    exchange_.here_ = 0;
    ++exchange_.meetings_;
    exchange_.all_here_->notify_all();
    return;
  }
  const std::uint64_t mine = exchange_.meetings_;
  while (exchange_.meetings_ == mine) {
    if (exchange_.all_here_->wait_for(lock, never_s) != std::cv_status::timeout) continue;
    exchange_.health_.throw_if_failed();
    fail(Errc::peer, "rank {} waits for all ranks in an exchange, {} of {} are there", rank_,
         exchange_.here_, exchange_.ranks_);
  }
}

// Two rounds alternate: a rank overwrites round k - 2 after everybody has read it, because
// everybody has come to round k - 1 since.
void SimBootstrap::show(std::span<const std::byte> mine) {
  ++round_;
  exchange_.parts_[round_ % 2][static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
  meet();
}

void SimBootstrap::collect(std::size_t bytes, std::span<std::byte> all) const {
  std::byte* to = all.data();
  for (const auto& part : exchange_.parts_[round_ % 2]) {
    if (part.size() != bytes) {
      fail(Errc::peer, "a rank contributes {} bytes to an exchange and rank {} {} bytes",
           part.size(), rank_, bytes);
    }
    if (bytes != 0) std::memcpy(to, part.data(), bytes);
    to += bytes;
  }
}

void SimBootstrap::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size());
  require(all.size() == n * mine.size(),
          "allgather of {} bytes from {} ranks needs a result of {} bytes, not {}", mine.size(), n,
          n * mine.size(), all.size());
  show(mine);
  collect(mine.size(), all);
}

void SimBootstrap::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  show(mine);
  if (rank_ == 0) collect(mine.size(), all);
}

}  // namespace commtune::sim
