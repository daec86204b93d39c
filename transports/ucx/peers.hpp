#pragma once
#include <cstdint>
#include <string>
#include <ucp/api/ucp.h>
#include <vector>

#include "transports/bootstrap.hpp"

namespace commtune::ucx {

/// Throws Error(system) naming `call` unless `status` is UCS_OK.
void check(ucs_status_t status, const char* call);

/// The library's context and one worker of this rank.
class Worker {
 public:
  /// `features`: UCP_FEATURE_*. Each adds to what UCX sets up with a peer, so ask for what is used.
  explicit Worker(std::uint64_t features);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ucp_context_h context() const noexcept { return context_; }
  ucp_worker_h handle() const noexcept { return worker_; }
  /// What others need to connect, bytes without meaning for us.
  std::string address() const;

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

/// A worker and its connections to the workers of all ranks, its own included.
class Peers {
 public:
  /// Collective.
  Peers(Bootstrap&, std::uint64_t features);
  const Worker& worker() const noexcept { return worker_; }
  Rank size() const noexcept { return static_cast<Rank>(addresses_.size()); }
  /// Connects at the first call.
  ucp_ep_h endpoint(Rank to);
  unsigned progress() noexcept { return ucp_worker_progress(worker_.handle()); }
  /// Begins to flush and close all connections; appends what is not finished to `closing`.
  void close(std::vector<ucs_status_ptr_t>& closing);

 private:
  Worker worker_;
  std::vector<std::string> addresses_;
  std::vector<ucp_ep_h> endpoints_;  ///< by rank, null until used
};

/// The types of memory that this UCX can move by itself: "host", "cuda", ...
std::vector<std::string> memory_types();

}  // namespace commtune::ucx
