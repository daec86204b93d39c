#include "transports/grpc/grpc_transport.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/drive.hpp"

namespace commtune::grpc {
namespace {

enum class Carrier : std::uint8_t { tcp, unix_socket };

/// COMMTUNE_GRPC=tcp|unix; unix sockets reach only ranks of the same host.
Carrier carrier() {
  const char* const value = std::getenv("COMMTUNE_GRPC");
  const std::string_view text = value == nullptr ? "tcp" : value;
  require(text == "tcp" || text == "unix", "COMMTUNE_GRPC={}: must be tcp or unix", text);
  return text == "unix" ? Carrier::unix_socket : Carrier::tcp;
}

/// A folder that only this user can enter.
std::string private_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "commtune-grpc-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    fail(Errc::system, "cannot create {}: {}", name, std::strerror(errno));
  }
  return name;
}

}  // namespace

GrpcTransport::GrpcTransport(const RuntimeContext& context)
    : bootstrap_(context.bootstrap),
      health_(context.health),
      rank_(context.bootstrap.rank()),
      size_(context.bootstrap.size()),
      crowded_(context.crowded),
      secret_(context.secret) {
  for (Rank peer = 0; peer < size_; ++peer) inboxes_.emplace_back(rank_, peer);
  const bool over_tcp = carrier() == Carrier::tcp;
  if (!over_tcp) folder_ = private_folder();
  const std::string socket = folder_ + "/stream";
  server_ = std::make_unique<Server>(
      over_tcp ? context.address + ":0" : "unix:" + socket, secret_, rank_, size_,
      [this](Rank from, ::grpc::ByteBuffer message) {
        inboxes_[static_cast<std::size_t>(from)].take(Chunk::parse(std::move(message), from));
      });
  const std::string target =
      over_tcp ? fmt::format("ipv4:{}:{}", context.address, server_->port()) : "unix:" + socket;
  targets_ = allgather_string(bootstrap_, target);
  outgoing_.resize(targets_.size());
}

GrpcTransport::~GrpcTransport() {
  try {
    // A rank that fails must not wait for others that wait for it.
    if (std::uncaught_exceptions() == exceptions_ && !health_.failed()) leave();
  } catch (const std::exception&) {  // the job's failure is told elsewhere
  }
  for (const auto& each : outgoing_) {
    if (each != nullptr && !each->done()) each->cancel();
  }
  server_.reset();  // hands out what is left in the queue, which refers to the streams
  outgoing_.clear();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

/// How many streams the other ranks opened to this one. Streams are driven meanwhile: a peer may
/// still wait for the last of what was sent, and gRPC moves nothing unless its queue is asked.
Rank GrpcTransport::streams_to_expect() {
  std::vector<std::byte> mine(targets_.size()), all(targets_.size() * targets_.size());
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::byte{outgoing_[i] != nullptr};
  allgather_while_driving(bootstrap_, mine, all, [this] { drive(); });
  Rank expected = 0;
  for (std::size_t from = 0; from < mine.size(); ++from) {
    if (all[from * mine.size() + static_cast<std::size_t>(rank_)] != std::byte{0}) ++expected;
  }
  return expected;
}

bool GrpcTransport::all_ended(Rank expected) const {
  for (const auto& each : outgoing_) {
    if (each != nullptr && !each->done()) return false;
  }
  return server_->ended() >= expected || server_->lost() >= 0;
}

/// Collective. Ends the streams in order: everything is read before any rank goes away.
void GrpcTransport::leave() {
  constexpr double limit_s = 5;
  const Rank expected = streams_to_expect();
  const std::int64_t begin = monotonic_ns();
  for (const auto& each : outgoing_) {
    if (each != nullptr) each->finish();
  }
  while (!all_ended(expected) && !health_.failed() &&
         static_cast<double>(monotonic_ns() - begin) * 1e-9 < limit_s) {
    drive();
  }
}

void GrpcTransport::check_arguments(Rank peer, Lane lane) const {
  require(peer >= 0 && peer < size_, "rank {} is not one of the {} ranks", peer, size_);
  require(peer != rank_, "rank {} cannot send to or receive from itself", rank_);
  require(lane < lane_count, "lane {} is not one of the {} lanes", lane, lane_count);
}

Outgoing& GrpcTransport::outgoing(Rank to) {
  auto& stream = outgoing_[static_cast<std::size_t>(to)];
  if (stream == nullptr) {
    stream = std::make_unique<Outgoing>(targets_[static_cast<std::size_t>(to)], rank_, secret_,
                                        server_->queue());
  }
  return *stream;
}

void GrpcTransport::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                              Completion completion) {
  check_arguments(to, lane);
  outgoing(to).send(lane, data, completion);
}

void GrpcTransport::post_recv(Rank from, Lane lane, std::span<std::byte> data,
                              Completion completion) {
  check_arguments(from, lane);
  inboxes_[static_cast<std::size_t>(from)].expect(lane, data, completion);
}

void GrpcTransport::drive() {
  constexpr int most_events = 64;
  const gpr_timespec past = gpr_time_0(GPR_CLOCK_MONOTONIC);
  for (int i = 0; i < most_events; ++i) {
    void* tag = nullptr;
    bool ok = false;
    const auto next = server_->queue().AsyncNext(&tag, &ok, past);
    if (next != ::grpc::CompletionQueue::GOT_EVENT) return;
    static_cast<Event*>(tag)->proceed(ok);
  }
}

std::size_t GrpcTransport::poll() {
  drive();
  std::size_t finished = 0;
  for (Inbox& inbox : inboxes_) finished += inbox.report_finished();
  for (const auto& each : outgoing_) {
    if (each != nullptr) finished += each->report_finished();
  }
  if (finished != 0) {
    idle_polls_ = 0;
  } else if (++idle_polls_ % 64 == 0) {
    check_health();
  }
  return finished;
}

/// A broken stream is told only after the job had time to say which rank was lost and why.
void GrpcTransport::check_health() {
  health_.throw_if_failed();
  Rank lost = server_->lost();
  std::string reason = "its stream was cut";
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    if (outgoing_[i] == nullptr || outgoing_[i]->broken().empty()) continue;
    lost = static_cast<Rank>(i);
    reason = outgoing_[i]->broken();
  }
  if (lost < 0) return;
  constexpr std::int64_t patience_ns = 2'000'000'000;
  if (broken_since_ns_ == 0) broken_since_ns_ = monotonic_ns();
  if (monotonic_ns() - broken_since_ns_ < patience_ns) return;
  fail(Errc::peer, "the gRPC connection with rank {} broke: {}", lost, reason);
}

}  // namespace commtune::grpc
