#include "transports/ucx/ucx_transport.hpp"

#include <sched.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/drive.hpp"

namespace commtune::ucx {

UcxTransport::UcxTransport(const RuntimeContext& context, std::uint64_t feature)
    : bootstrap_(context.bootstrap),
      health_(context.health),
      rank_(context.bootstrap.rank()),
      size_(context.bootstrap.size()),
      crowded_(context.crowded),
      completions_(rank_),
      peers_(context.bootstrap, feature) {}

std::unique_ptr<Region> UcxTransport::allocate_region(Bootstrap& bootstrap, std::size_t bytes) {
  if (!one_sided_peers_) one_sided_peers_ = std::make_unique<Peers>(bootstrap, UCP_FEATURE_RMA);
  return make_region(*one_sided_peers_, bootstrap, completions_, bytes);
}

void UcxTransport::leave() noexcept {
  try {
    // A rank that fails must not wait for others that wait for it.
    if (std::uncaught_exceptions() == exceptions_ && !health_.failed()) close_and_meet();
  } catch (const std::exception&) {  // the job's failure is told elsewhere
  }
}

/// Everything posted has completed here, but a peer may still fetch what was sent.
void UcxTransport::close_and_meet() {
  constexpr double limit_s = 5;
  std::vector<ucs_status_ptr_t> closing;
  peers_.close(closing);
  if (one_sided_peers_) one_sided_peers_->close(closing);
  const std::int64_t begin = monotonic_ns();
  while (!closing.empty() && !health_.failed() &&
         static_cast<double>(monotonic_ns() - begin) * 1e-9 < limit_s) {
    progress();
    if (ucp_request_check_status(closing.back()) == UCS_INPROGRESS) continue;
    ucp_request_free(closing.back());
    closing.pop_back();
  }
  const std::byte here{1};
  std::vector<std::byte> all(static_cast<std::size_t>(size_));
  allgather_while_driving(bootstrap_, {&here, 1}, all, [this] { progress(); });
}

void UcxTransport::refuse(Rank peer, Lane lane) const {
  require(peer >= 0 && peer < size_, "rank {} is not one of the {} ranks", peer, size_);
  require(peer != rank_, "rank {} cannot send to or receive from itself", rank_);
  fail(Errc::usage, "lane {} is not one of the {} lanes", lane, lane_count);
}

inline unsigned UcxTransport::progress() noexcept {
  const unsigned done = peers_.progress();
  return one_sided_peers_ ? done + one_sided_peers_->progress() : done;
}

std::size_t UcxTransport::poll() {
  progress();
  if (completions_.empty()) {
    idle();
    return 0;
  }
  idle_polls_ = 0;
  return completions_.report();
}

inline void UcxTransport::idle() {
  constexpr std::uint32_t asked_every = 1024;
  if (++idle_polls_ % asked_every == 0) health_.throw_if_failed();
}

void UcxTransport::progress_once(int& idle_rounds) {
  constexpr int short_spin = 100;
  if (progress() != 0) return;
  idle();
  if (crowded_ && ++idle_rounds > short_spin) sched_yield();
}

}  // namespace commtune::ucx
