#pragma once
#include <functional>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <string>
#include <vector>

#include "transports/grpc/wire.hpp"

namespace commtune::grpc {

/// Accepts the streams of the job's other ranks on one address. A caller without the job's secret
/// is turned away before any of its messages is read.
class Server {
 public:
  /// `receive` gets every chunk, in order per rank. `address` as AddListeningPort takes it; port 0
  /// chooses one. Throws Error(system) when it cannot listen.
  Server(const std::string& address, std::string secret, Rank self, Rank ranks,
         std::function<void(Rank from, ::grpc::ByteBuffer)> receive);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const noexcept { return port_; }
  /// Also for calls that this rank makes: one queue is one thing to wait for.
  ::grpc::ServerCompletionQueue& queue() noexcept { return *queue_; }
  /// The rank whose stream broke before its end, or -1.
  Rank lost() const noexcept { return lost_; }
  /// Streams that have come to their orderly end.
  Rank ended() const noexcept { return ended_; }

 private:
  class Stream;
  void accept();
  /// The rank that a call claims and proves to be, or -1.
  Rank authenticate(const ::grpc::GenericServerContext&) const;

  std::string secret_;
  Rank self_, ranks_;
  std::function<void(Rank, ::grpc::ByteBuffer)> receive_;
  ::grpc::AsyncGenericService service_;
  std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<::grpc::Server> server_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<bool> taken_;  ///< by rank
  int port_ = 0;
  Rank lost_ = -1, ended_ = 0;
};

}  // namespace commtune::grpc
