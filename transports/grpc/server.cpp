#include "transports/grpc/server.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "transports/secret.hpp"

namespace commtune::grpc {

/// One call, from the wait for it to its end.
class Server::Stream final : Event {
 public:
  explicit Stream(Server& server) : server_(server), stream_(&context_), end_(*this) {
    context_.AsyncNotifyWhenDone(static_cast<Event*>(&end_));
    server.service_.RequestCall(&context_, &stream_, server.queue_.get(), server.queue_.get(),
                                static_cast<Event*>(this));
  }

 private:
  enum class Stage : std::uint8_t { waiting, reading, ending };
  /// The end of the call, which alone tells whether it was cut.
  class End final : public Event {
   public:
    explicit End(Stream& stream) : stream_(stream) {}
    void proceed(bool ok) override;

   private:
    Stream& stream_;
  };
  void proceed(bool ok) override;
  void begin();
  void end(const ::grpc::Status& status) {
    stage_ = Stage::ending;
    stream_.Finish(status, static_cast<Event*>(this));
  }

  Server& server_;
  ::grpc::GenericServerContext context_;
  ::grpc::GenericServerAsyncReaderWriter stream_;
  ::grpc::ByteBuffer message_;
  Stage stage_ = Stage::waiting;
  Rank from_ = -1;
  End end_;
};

void Server::Stream::End::proceed(bool) {
  if (stream_.from_ < 0) return;
  if (stream_.context_.IsCancelled()) {
    stream_.server_.lost_ = stream_.from_;
  } else {
    ++stream_.server_.ended_;
  }
}

void Server::Stream::begin() {
  server_.accept();
  from_ = server_.authenticate(context_);
  if (from_ < 0) {
    return end({::grpc::StatusCode::UNAUTHENTICATED, "not a rank of this job"});
  }
  server_.taken_[static_cast<std::size_t>(from_)] = true;
  stage_ = Stage::reading;
  stream_.Read(&message_, static_cast<Event*>(this));
}

void Server::Stream::proceed(bool ok) {
  switch (stage_) {
    case Stage::waiting:
      if (ok) begin();
      return;
    case Stage::reading:
      if (ok) {
        server_.receive_(from_, std::move(message_));
        message_.Clear();
        stream_.Read(&message_, static_cast<Event*>(this));
      } else {
        end(::grpc::Status::OK);
      }
      return;
    case Stage::ending:
      return;
  }
}

Server::Server(const std::string& address, std::string secret, Rank self, Rank ranks,
               std::function<void(Rank, ::grpc::ByteBuffer)> receive)
    : secret_(std::move(secret)),
      self_(self),
      ranks_(ranks),
      receive_(std::move(receive)),
      taken_(static_cast<std::size_t>(ranks)) {
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort(address, ::grpc::InsecureServerCredentials(), &port_);
  builder.RegisterAsyncGenericService(&service_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(2 * chunk_bytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) fail(Errc::system, "gRPC cannot listen on {}", address);
  accept();
}

Server::~Server() {
  const auto now = std::chrono::system_clock::now();
  server_->Shutdown(now);
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

void Server::accept() { streams_.push_back(std::make_unique<Stream>(*this)); }

Rank Server::authenticate(const ::grpc::GenericServerContext& context) const {
  const auto& metadata = context.client_metadata();
  const auto value = [&metadata](const char* key) -> std::string_view {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string_view()
                                   : std::string_view(found->second.data(), found->second.size());
  };
  if (!same_secret(value(secret_key), secret_)) return -1;
  const std::string_view text = value(rank_key);
  Rank rank = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool valid = problem == std::errc{} && end == text.data() + text.size() && rank >= 0 &&
                     rank < ranks_ && rank != self_;
  return valid && !taken_[static_cast<std::size_t>(rank)] ? rank : -1;
}

}  // namespace commtune::grpc
