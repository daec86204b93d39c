#include "transports/grpc/outgoing.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace commtune::grpc {
namespace {

::grpc::ChannelArguments arguments() {
  ::grpc::ChannelArguments set;
  set.SetMaxReceiveMessageSize(-1);
  set.SetMaxSendMessageSize(-1);
  set.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // For a retry gRPC would keep the caller's memory until 256 KiB were sent.
  set.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  set.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  set.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  return set;
}

}  // namespace

Outgoing::Outgoing(const std::string& target, Rank self, const std::string& secret,
                   ::grpc::CompletionQueue& queue)
    : channel_(
          ::grpc::CreateCustomChannel(target, ::grpc::InsecureChannelCredentials(), arguments())),
      stub_(channel_) {
  context_.set_wait_for_ready(true);
  context_.AddMetadata(secret_key, secret);
  context_.AddMetadata(rank_key, std::to_string(self));
  stream_ = stub_.PrepareCall(&context_, method, &queue);
  stream_->StartCall(static_cast<Event*>(this));
}

void Outgoing::send(Lane lane, std::span<const std::byte> data, Completion completion) {
  Transfer& transfer = transfers_.emplace_back();
  transfer.lane = lane;
  transfer.data = data;
  transfer.completion = completion;
  if (!busy_ && stage_ == Stage::open) write_next();
}

::grpc::ByteBuffer Outgoing::next_chunk(Transfer& transfer) const {
  const std::size_t length = std::min(transfer.data.size() - transfer.written, chunk_bytes);
  const Header header{transfer.data.size(), transfer.written, transfer.lane, Header::mark};
  const std::byte* const data = transfer.data.data() + transfer.written;
  if (length <= copied_bytes) {
    std::array<std::byte, sizeof(Header) + copied_bytes> joined;
    std::memcpy(joined.data(), &header, sizeof(header));
    if (length > 0) std::memcpy(joined.data() + sizeof(header), data, length);
    const ::grpc::Slice slice(joined.data(), sizeof(header) + length);
    return {&slice, 1};
  }
  // gRPC may refer to the memory beyond the end of the write, and let go of it in another thread.
  transfer.held.fetch_add(1, std::memory_order_relaxed);
  const auto let_go = [](void* of) {
    static_cast<Transfer*>(of)->held.fetch_sub(1, std::memory_order_release);
  };
  const std::array slices{::grpc::Slice(&header, sizeof(header)),
                          ::grpc::Slice(const_cast<std::byte*>(data), length, let_go, &transfer)};
  return {slices.data(), slices.size()};
}

void Outgoing::write_next() {
  if (current_ == transfers_.size()) {
    if (!ending_) return;
    stage_ = Stage::closing;
    busy_ = true;
    stream_->WritesDone(static_cast<Event*>(this));
    return;
  }
  Transfer& transfer = transfers_[current_];
  const ::grpc::ByteBuffer chunk = next_chunk(transfer);
  transfer.written += std::min(transfer.data.size() - transfer.written, chunk_bytes);
  transfer.begun = true;
  if (transfer.handed_over()) ++current_;
  busy_ = true;
  stream_->Write(chunk, static_cast<Event*>(this));
}

void Outgoing::proceed(bool ok) {
  busy_ = false;
  if (stage_ == Stage::finishing) {
    stage_ = Stage::ended;
    if (broken_.empty() && !status_.ok()) broken_ = status_.error_message();
    if (broken_ == "stream") broken_ = status_.error_message();
    return;
  }
  if (ok && stage_ == Stage::starting) stage_ = Stage::open;
  if (ok && stage_ == Stage::open) return write_next();
  if (!ok && stage_ != Stage::closing) broken_ = "stream";
  stage_ = Stage::finishing;
  busy_ = true;
  stream_->Finish(&status_, static_cast<Event*>(this));
}

std::size_t Outgoing::report_finished() {
  std::size_t finished = 0;
  while (current_ > 0 && transfers_.front().held.load(std::memory_order_acquire) == 0) {
    // The last chunk of a copied transfer is on its way once its write was handed over.
    const Completion completion = transfers_.front().completion;
    transfers_.pop_front();
    --current_;
    ++finished;
    completion.sink->complete(completion.id);
  }
  return finished;
}

void Outgoing::finish() {
  ending_ = true;
  if (!busy_ && stage_ == Stage::open) write_next();
}

}  // namespace commtune::grpc
