#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <ucp/api/ucp.h>
#include <vector>

#include "transports/module.hpp"

namespace commtune::ucx {

/// Throws Error(system) naming `call` unless `status` is UCS_OK.
void check(ucs_status_t status, const char* call);

/// The library's context and the one worker of this rank.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ucp_worker_h handle() const noexcept { return worker_; }
  /// What others need to connect, bytes without meaning for us.
  std::string address() const;

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

/// Messages by UCP's tag matching. The tag holds the lane and the sender; UCX keeps the order of
/// messages with the same tag between two workers.
class UcxTransport final : public Transport {
 public:
  /// Collective over context.bootstrap.
  explicit UcxTransport(const RuntimeContext& context);
  /// Collective, unless the job has failed: no rank takes its memory away while another may read.
  ~UcxTransport() override;
  std::string_view name() const noexcept override { return "ucx"; }
  Capabilities capabilities() const noexcept override { return {}; }
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return size_; }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  std::size_t poll() override;
  void send(Rank to, std::span<const std::byte> data) override;
  void recv(Rank from, std::span<std::byte> data) override;
  bool crowded() const noexcept override { return crowded_; }

 private:
  /// A transfer that UCX has not finished yet.
  struct Operation {
    UcxTransport* transport;
    Completion completion;
    std::size_t bytes;
    Rank peer;
    Lane lane;
  };
  static void sent(void* request, ucs_status_t, void* operation);
  static void received(void* request, ucs_status_t, const ucp_tag_recv_info_t*, void* operation);

  void check_arguments(Rank peer, Lane) const;
  [[gnu::cold, gnu::noinline]] void refuse(Rank peer, Lane) const;
  ucp_ep_h endpoint(Rank to);
  Operation* take_operation(Rank peer, Lane, std::size_t bytes, Completion);
  void finish(Operation*, ucs_status_t, std::size_t received_bytes);
  /// The reason when what arrived is not what was expected; empty when it is.
  std::string mismatch(Rank from, Lane, std::size_t expected, std::size_t got, ucs_status_t) const;
  void progress_once(int& idle_rounds);
  void idle();
  void leave();

  Bootstrap& bootstrap_;
  const JobHealth& health_;
  Rank rank_, size_;
  bool crowded_;
  int exceptions_ = std::uncaught_exceptions();
  Worker worker_;
  std::vector<std::string> addresses_;
  std::vector<ucp_ep_h> endpoints_;  ///< by rank, null until used
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;
  std::vector<Completion> finished_, reporting_;
  std::string problem_;  ///< found in a callback, thrown by poll
  std::uint32_t idle_polls_ = 0;
};

}  // namespace commtune::ucx
