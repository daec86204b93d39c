#pragma once
#include <exception>
#include <memory>

#include "transports/module.hpp"
#include "transports/one_sided.hpp"
#include "transports/ucx/completions.hpp"
#include "transports/ucx/peers.hpp"

namespace commtune::ucx {

/// What both ways of sending messages share: connections, completions, one-sided access, the end.
/// A derived class calls leave() in its destructor, while its own members are still there for
/// messages that arrive.
class UcxTransport : public Transport, public OneSided {
 public:
  std::string_view name() const noexcept final { return "ucx"; }
  Capabilities capabilities() const noexcept final { return {.any_thread = true}; }
  Rank rank() const noexcept final { return rank_; }
  Rank size() const noexcept final { return size_; }
  std::size_t poll() final;
  OneSided* one_sided() noexcept final { return this; }
  std::unique_ptr<Region> allocate_region(Bootstrap&, std::size_t bytes) final;
  bool crowded() const noexcept final { return crowded_; }

 protected:
  /// Collective over context.bootstrap. `feature`: UCP_FEATURE_* of the messages.
  UcxTransport(const RuntimeContext& context, std::uint64_t feature);

  void check_arguments(Rank peer, Lane lane) const {
    if (peer < 0 || peer >= size_ || peer == rank_ || lane >= lane_count) refuse(peer, lane);
  }
  ucp_ep_h endpoint(Rank to) { return peers_.endpoint(to); }
  ucp_worker_h worker() const noexcept { return peers_.worker().handle(); }
  Completions& completions() noexcept { return completions_; }
  /// One round of waiting for something of the caller's own. `idle_rounds` starts at 0.
  void progress_once(int& idle_rounds);
  /// Collective, unless the job has failed: no rank takes its memory away while another may read.
  void leave() noexcept;

 private:
  [[gnu::cold, gnu::noinline]] void refuse(Rank peer, Lane) const;
  unsigned progress() noexcept;
  void idle();
  void close_and_meet();

  Bootstrap& bootstrap_;
  const JobHealth& health_;
  Rank rank_, size_;
  bool crowded_;
  int exceptions_ = std::uncaught_exceptions();
  Completions completions_;
  Peers peers_;
  std::unique_ptr<Peers> one_sided_peers_;  ///< since the first region
  std::uint32_t idle_polls_ = 0;
};

/// Messages by UCP's tag matching. The tag holds the lane and the sender; UCX keeps the order of
/// messages with the same tag between two workers.
std::unique_ptr<Transport> make_tag_transport(const RuntimeContext&);
/// Messages as UCP's active messages, matched here by their numbers: UCX does not keep the order
/// between short messages and those that the receiver fetches.
std::unique_ptr<Transport> make_am_transport(const RuntimeContext&);
/// Collective. Memory that UCX allocates, so that it can be reached in the fastest way it has.
std::unique_ptr<Region> make_region(Peers&, Bootstrap&, Completions&, std::size_t bytes);

}  // namespace commtune::ucx
