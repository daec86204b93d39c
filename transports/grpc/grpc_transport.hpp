#pragma once
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "transports/grpc/inbox.hpp"
#include "transports/grpc/outgoing.hpp"
#include "transports/grpc/server.hpp"
#include "transports/module.hpp"

namespace commtune::grpc {

/// Messages over gRPC streams, one per ordered pair of ranks and opened at first use, driven by one
/// completion queue: the asynchronous C++ interface as TensorFlow's parameter servers use it. Large
/// sends hand the caller's memory to gRPC without a copy; gRPC itself allocates in every call.
class GrpcTransport final : public Transport {
 public:
  /// Collective over context.bootstrap.
  explicit GrpcTransport(const RuntimeContext& context);
  /// Waits until what was sent has been read, unless the job has failed.
  ~GrpcTransport() override;
  std::string_view name() const noexcept override { return "grpc"; }
  Capabilities capabilities() const noexcept override { return {.any_thread = true}; }
  Rank rank() const noexcept override { return rank_; }
  Rank size() const noexcept override { return size_; }
  void post_send(Rank to, Lane, std::span<const std::byte> data, Completion) override;
  void post_recv(Rank from, Lane, std::span<std::byte> data, Completion) override;
  std::size_t poll() override;
  bool crowded() const noexcept override { return crowded_; }

 private:
  void check_arguments(Rank peer, Lane) const;
  Outgoing& outgoing(Rank to);
  /// Handles everything that gRPC has to report now.
  void drive();
  void check_health();
  Rank streams_to_expect();
  bool all_ended(Rank expected) const;
  void leave();

  Bootstrap& bootstrap_;
  const JobHealth& health_;
  Rank rank_, size_;
  bool crowded_;
  int exceptions_ = std::uncaught_exceptions();
  std::string secret_, folder_;
  std::vector<Inbox> inboxes_;
  std::unique_ptr<Server> server_;
  std::vector<std::string> targets_;                 ///< by rank
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  ///< by rank, null until used
  std::uint64_t idle_polls_ = 0;
  std::int64_t broken_since_ns_ = 0;
};

}  // namespace commtune::grpc
