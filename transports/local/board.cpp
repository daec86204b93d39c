#include "transports/local/board.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <sys/mman.h>

#include "core/error.hpp"

namespace commtune::local {

struct Board::FailureRecord {
  std::atomic<std::int32_t> claimed;    ///< 1 once somebody writes the record
  std::atomic<std::int32_t> published;  ///< 1 once it can be read
  std::int32_t rank, status;
  bool said_by_rank;
  char message[1024];
};

Board::Board(Rank ranks) : ranks_(ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t monitors_at = round_up(sizeof(FailureRecord), page_bytes);
  const std::size_t bootstrap_at = round_up(monitors_at + n * sizeof(MonitorSlot), page_bytes);
  mapped_bytes_ = bootstrap_at + n * sizeof(BootstrapCell);
  void* const address = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    commtune::fail(Errc::system,
                   "cannot map {} bytes of shared memory for {} ranks: {}; use fewer ranks",
                   mapped_bytes_, ranks_, std::strerror(errno));
  }
  base_ = static_cast<std::byte*>(address);
  failure_ = new (base_) FailureRecord{};
  failed_ = &failure_->published;
  monitors_ = reinterpret_cast<MonitorSlot*>(base_ + monitors_at);
  for (std::size_t i = 0; i < n; ++i) new (monitors_ + i) MonitorSlot{};
  bootstrap_ = reinterpret_cast<BootstrapCell*>(base_ + bootstrap_at);
}

Board::~Board() { munmap(base_, mapped_bytes_); }

void Board::fail(const Failure& failure) noexcept {
  std::int32_t unclaimed = 0;
  if (!failure_->claimed.compare_exchange_strong(unclaimed, 1, std::memory_order_acq_rel)) return;
  failure_->rank = failure.rank;
  failure_->status = failure.status;
  failure_->said_by_rank = failure.said_by_rank;
  const std::size_t length = std::min(failure.message.size(), sizeof(failure_->message) - 1);
  std::memcpy(failure_->message, failure.message.data(), length);
  failure_->message[length] = '\0';
  failure_->published.store(1, std::memory_order_release);
}

Failure Board::failure() const {
  return {failure_->rank, failure_->status, failure_->message, failure_->said_by_rank};
}

void Board::throw_failure() const {
  const Failure first = failure();
  commtune::fail(Errc::peer, "rank {} failed: {}", first.rank, first.message);
}

}  // namespace commtune::local
