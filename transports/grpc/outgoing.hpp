#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/grpc/wire.hpp"

namespace commtune::grpc {

/// The stream on which one peer is sent to. gRPC allows one write at a time on it.
class Outgoing final : Event {
 public:
  /// Starts the call to `target`, such as "ipv4:127.0.0.1:4711" or "unix:/..."; nothing blocks.
  Outgoing(const std::string& target, Rank self, const std::string& secret,
           ::grpc::CompletionQueue&);
  /// Queues a transfer. `data` must stay until it is reported finished.
  void send(Lane, std::span<const std::byte> data, Completion);
  /// Reports transfers whose memory gRPC has let go of, oldest first.
  std::size_t report_finished();
  bool idle() const noexcept { return transfers_.empty() && !busy_; }
  /// Why the stream broke; empty while it works.
  const std::string& broken() const noexcept { return broken_; }
  /// Ends the stream once everything is written; done() tells when the peer has seen the end.
  void finish();
  void cancel() { context_.TryCancel(); }
  bool done() const noexcept { return stage_ == Stage::ended; }

 private:
  enum class Stage : std::uint8_t { starting, open, closing, finishing, ended };
  struct Transfer {
    Lane lane;
    std::span<const std::byte> data;
    Completion completion;
    std::size_t written = 0;             ///< bytes handed to gRPC
    bool begun = false;                  ///< the first chunk was handed over
    std::atomic<std::uint32_t> held{0};  ///< chunks whose memory gRPC still refers to
    bool handed_over() const noexcept { return begun && written == data.size(); }
  };
  void proceed(bool ok) override;
  void write_next();
  ::grpc::ByteBuffer next_chunk(Transfer&) const;

  std::shared_ptr<::grpc::Channel> channel_;
  ::grpc::GenericStub stub_;
  ::grpc::ClientContext context_;
  std::unique_ptr<::grpc::GenericClientAsyncReaderWriter> stream_;
  ::grpc::Status status_;
  Stage stage_ = Stage::starting;
  bool busy_ = true;                ///< an operation of the stream is under way
  bool ending_ = false;             ///< finish() was asked for
  std::deque<Transfer> transfers_;  ///< from the oldest unreported on
  std::size_t current_ = 0;         ///< first transfer that is not handed over
  std::string broken_;
};

}  // namespace commtune::grpc
