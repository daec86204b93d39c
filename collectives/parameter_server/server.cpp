#include "collectives/parameter_server/server.hpp"

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// A shard's place in memory, so that each begins on a cache line.
std::uint64_t padded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

std::uint64_t shard_bytes_of(const ParameterPlan& plan, Rank server) {
  return shard_of(plan, server).count * size_of(plan.type);
}

const ParameterPlan& checked(const ParameterPlan& plan, const Transport& transport) {
  check_plan(plan, transport.size());
  require(transport.rank() < plan.servers, "rank {} is a worker: servers are ranks 0 to {}",
          transport.rank(), plan.servers - 1);
  return plan;
}

}  // namespace

std::uint64_t ParameterServer::memory_bytes(const Transport& transport, const ParameterPlan& plan,
                                            Rank server) {
  const auto workers = static_cast<std::uint64_t>(transport.size() - plan.servers);
  const std::uint64_t gradients = transport.capabilities().views ? 0 : workers;
  return padded(shard_bytes_of(plan, server)) * (2 + gradients);
}

ParameterServer::ParameterServer(Transport& transport, const ParameterPlan& plan)
    : transport_(transport),
      plan_(checked(plan, transport)),
      shard_(shard_of(plan, transport.rank())),
      shard_bytes_(shard_bytes_of(plan, transport.rank())),
      views_(transport.capabilities().views),
      add_(reduce_kernel(plan.type, ReduceOp::sum)),
      pushes_per_version_(plan.mode == UpdateMode::asynchronous
                              ? 1
                              : static_cast<std::uint64_t>(transport.size() - plan.servers)),
      memory_(transport, memory_bytes(transport, plan, transport.rank())),
      workers_(static_cast<std::size_t>(transport.size() - plan.servers)) {
  std::size_t offset = 2 * padded(shard_bytes_);
  Rank rank = plan.servers;
  for (Worker& worker : workers_) {
    worker.rank = rank++;
    if (views_) continue;
    worker.gradient = memory_.bytes().subspan(offset, shard_bytes_);
    offset += padded(shard_bytes_);
  }
}

std::span<std::byte> ParameterServer::version_bytes(int which) noexcept {
  return memory_.bytes().subspan(static_cast<std::size_t>(which) * padded(shard_bytes_),
                                 shard_bytes_);
}

Completion ParameterServer::completion(Worker& worker) noexcept {
  ++worker.pending;
  return {this, static_cast<std::uint32_t>(&worker - workers_.data())};
}

bool ParameterServer::done() const noexcept {
  const bool served = answered_ >= target_ || stopped_ == workers_.size();
  return served && readers_[0] + readers_[1] == 0;
}

void ParameterServer::start(std::uint64_t pulls) {
  require(done(), "a parameter server was started again before it had served");
  target_ = pulls == until_stopped ? until_stopped : target_ + pulls;
  for (Worker& worker : workers_) {
    if (worker.state == State::idle) listen(worker);
  }
}

bool ParameterServer::progress() {
  if (done()) return true;
  moved_ = transport_.poll() != 0;
  for (Worker& worker : workers_) {
    if (worker.pending == 0) advance(worker);
  }
  return done();
}

void ParameterServer::run(std::uint64_t pulls) {
  start(pulls);
  Backoff backoff(transport_.crowded());
  while (!progress()) {
    if (moved_) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

void ParameterServer::advance(Worker& worker) {
  switch (worker.state) {
    case State::idle:
    case State::stopped:
      break;
    case State::listening:
      accept(worker);
      break;
    case State::receiving:
      worker.state = State::applying;
      [[fallthrough]];
    case State::applying:
      if (may_apply(worker)) apply(worker);
      break;
    case State::waiting:
      if (plan_.mode == UpdateMode::asynchronous || version_ >= worker.step) answer(worker);
      break;
    case State::answering:
      --readers_[worker.reads];
      ++answered_;
      listen(worker);
      break;
  }
}

void ParameterServer::listen(Worker& worker) {
  worker.state = State::listening;
  transport_.post_recv(worker.rank, plan_.first_lane,
                       std::as_writable_bytes(std::span(&worker.request, 1)), completion(worker));
}

void ParameterServer::check_request(const Worker& worker) const {
  const ParameterHeader& request = worker.request;
  const bool known = request.kind >= ParameterHeader::push && request.kind <= ParameterHeader::stop;
  const std::uint64_t step = worker.step + (request.kind == ParameterHeader::push ? 1 : 0);
  if (known && request.step == step && request.elements == shard_.count) return;
  fail(Errc::peer,
       "worker {} sent server {} a request of kind {}, step {}, {} elements; expected kind 1 to 3, "
       "step {}, {} elements",
       worker.rank, transport_.rank(), request.kind, request.step, request.elements, step,
       shard_.count);
}

void ParameterServer::accept(Worker& worker) {
  check_request(worker);
  switch (worker.request.kind) {
    case ParameterHeader::push:
      ++worker.step;
      receive(worker);
      break;
    case ParameterHeader::pull:
      worker.state = State::waiting;
      advance(worker);
      break;
    case ParameterHeader::stop:
      worker.state = State::stopped;
      ++stopped_;
      break;
  }
}

void ParameterServer::receive(Worker& worker) {
  worker.state = State::receiving;
  if (shard_bytes_ == 0) return advance(worker);
  const Lane lane = plan_.first_lane + 1;
  if (views_) {
    transport_.post_view(worker.rank, lane, shard_bytes_, worker.view, completion(worker));
  } else {
    transport_.post_recv(worker.rank, lane, worker.gradient, completion(worker));
  }
}

/// A step begins once the one before is complete and nobody reads the memory it is written to.
bool ParameterServer::may_apply(const Worker& worker) const noexcept {
  const bool turn = plan_.mode == UpdateMode::asynchronous || worker.step == version_ + 1;
  return turn && (applied_ != 0 || readers_[1 - present_] == 0);
}

void ParameterServer::apply(Worker& worker) {
  if (shard_bytes_ != 0) {
    std::byte* const next = version_bytes(1 - present_).data();
    add_(applied_ == 0 ? version_bytes(present_).data() : next,
         views_ ? worker.view.data : worker.gradient.data(), next,
         static_cast<std::size_t>(shard_.count));
    if (views_) transport_.release_view(worker.view);
  }
  if (++applied_ == pushes_per_version_) {
    present_ = 1 - present_;
    ++version_;
    applied_ = 0;
  }
  listen(worker);
}

void ParameterServer::answer(Worker& worker) {
  worker.state = State::answering;
  worker.reads = present_;
  ++readers_[present_];
  worker.answer = {ParameterHeader::answer, version_, shard_.count};
  transport_.post_send(worker.rank, plan_.first_lane, std::as_bytes(std::span(&worker.answer, 1)),
                       completion(worker));
  if (shard_bytes_ == 0) return;
  transport_.post_send(worker.rank, plan_.first_lane + 1, version_bytes(present_),
                       completion(worker));
}

}  // namespace commtune
