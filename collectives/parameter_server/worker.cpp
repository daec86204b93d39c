#include "collectives/parameter_server/worker.hpp"

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace commtune {

/// What the operations of a worker share.
struct ParameterWorker::State {
  Transport& transport;
  ParameterPlan plan;
  std::span<const std::byte> gradient;
  std::span<std::byte> parameters;
  std::vector<Shard> shards;
  std::vector<std::uint64_t> versions;
  std::uint64_t step = 0;  ///< pushes started

  template <class Bytes>
  Bytes part(Bytes whole, Rank server) const {
    const Shard& shard = shards[static_cast<std::size_t>(server)];
    const std::size_t element = size_of(plan.type);
    return whole.subspan(static_cast<std::size_t>(shard.begin) * element,
                         static_cast<std::size_t>(shard.count) * element);
  }
};

/// One message to every server, and what belongs to it.
class ParameterWorker::Request : public Operation, private Sink {
 public:
  Request(State& state, ParameterHeader::Kind kind)
      : state_(state), kind_(kind), headers_(state.shards.size()) {}

  void start() final {
    require(!active_, "a request to the parameter servers was started again before it completed");
    active_ = true;
    begin();
  }
  bool progress() final {
    if (!active_) return true;
    // Another request's poll may have finished this one.
    if (pending_ != 0) moved_ = state_.transport.poll() != 0;
    if (pending_ != 0) return false;
    active_ = false;
    end();
    return true;
  }
  void run() final {
    start();
    Backoff backoff(state_.transport.crowded());
    while (!progress()) wait(backoff);
  }
  void wait(Backoff& backoff) const noexcept {
    if (moved_) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }

 protected:
  virtual void begin() = 0;
  virtual void end() {}

  Rank servers() const noexcept { return state_.plan.servers; }
  Completion completion() noexcept {
    ++pending_;
    return {this, 0};
  }
  void send_header(Rank server) {
    const auto index = static_cast<std::size_t>(server);
    headers_[index] = {kind_, state_.step, state_.shards[index].count};
    state_.transport.post_send(server, state_.plan.first_lane,
                               std::as_bytes(std::span(&headers_[index], 1)), completion());
  }
  Lane data_lane() const noexcept { return state_.plan.first_lane + 1; }

  State& state_;

 private:
  void complete(std::uint32_t /*id*/) noexcept override { --pending_; }

  const ParameterHeader::Kind kind_;
  std::vector<ParameterHeader> headers_;
  std::uint32_t pending_ = 0;
  bool active_ = false, moved_ = false;
};

class ParameterWorker::Push final : public Request {
 public:
  explicit Push(State& state) : Request(state, ParameterHeader::push) {}

 private:
  void begin() override {
    ++state_.step;
    for (Rank server = 0; server < servers(); ++server) {
      send_header(server);
      const auto slice = state_.part(state_.gradient, server);
      if (!slice.empty()) state_.transport.post_send(server, data_lane(), slice, completion());
    }
  }
};

class ParameterWorker::Pull final : public Request {
 public:
  explicit Pull(State& state)
      : Request(state, ParameterHeader::pull), answers_(state.shards.size()) {}

 private:
  void begin() override {
    step_ = state_.step;
    for (Rank server = 0; server < servers(); ++server) {
      ParameterHeader& answer = answers_[static_cast<std::size_t>(server)];
      state_.transport.post_recv(server, state_.plan.first_lane,
                                 std::as_writable_bytes(std::span(&answer, 1)), completion());
      const auto shard = state_.part(state_.parameters, server);
      if (!shard.empty()) state_.transport.post_recv(server, data_lane(), shard, completion());
      send_header(server);
    }
  }

  void end() override {
    const bool synchronous = state_.plan.mode == UpdateMode::synchronous;
    for (std::size_t server = 0; server < answers_.size(); ++server) {
      const ParameterHeader& answer = answers_[server];
      const std::uint64_t elements = state_.shards[server].count;
      const bool version_fits = synchronous ? answer.step == step_ : answer.step >= step_;
      if (answer.kind != ParameterHeader::answer || !version_fits || answer.elements != elements) {
        fail(Errc::peer,
             "server {} sent worker {} an answer of kind {}, version {}, {} elements; expected "
             "kind 4, version {}{}, {} elements",
             server, state_.transport.rank(), answer.kind, answer.step, answer.elements, step_,
             synchronous ? "" : " or later", elements);
      }
      state_.versions[server] = answer.step;
    }
  }

  std::uint64_t step_ = 0;  ///< when the pull was started
  std::vector<ParameterHeader> answers_;
};

class ParameterWorker::Stop final : public Request {
 public:
  explicit Stop(State& state) : Request(state, ParameterHeader::stop) {}

 private:
  void begin() override {
    for (Rank server = 0; server < servers(); ++server) send_header(server);
  }
};

ParameterWorker::ParameterWorker(Transport& transport, const ParameterPlan& plan,
                                 std::span<const std::byte> gradient,
                                 std::span<std::byte> parameters) {
  check_plan(plan, transport.size());
  require(transport.rank() >= plan.servers, "rank {} is a server: workers are ranks {} to {}",
          transport.rank(), plan.servers, transport.size() - 1);
  const std::uint64_t bytes = plan.count * size_of(plan.type);
  require(gradient.size() == bytes && parameters.size() == bytes,
          "parameter server: {} bytes of gradient and {} of parameters, the plan has {}",
          gradient.size(), parameters.size(), bytes);
  state_ = std::make_unique<State>(State{transport, plan, gradient, parameters, {}, {}});
  for (Rank server = 0; server < plan.servers; ++server) {
    state_->shards.push_back(shard_of(plan, server));
  }
  state_->versions.resize(state_->shards.size());
  push_ = std::make_unique<Push>(*state_);
  pull_ = std::make_unique<Pull>(*state_);
  stop_ = std::make_unique<Stop>(*state_);
}

ParameterWorker::~ParameterWorker() = default;

Operation& ParameterWorker::push() noexcept { return *push_; }
Operation& ParameterWorker::pull() noexcept { return *pull_; }
Operation& ParameterWorker::stop() noexcept { return *stop_; }

void ParameterWorker::exchange() {
  push_->start();
  pull_->start();
  Backoff backoff(state_->transport.crowded());
  while (!pull_->progress()) pull_->wait(backoff);
  while (!push_->progress()) push_->wait(backoff);
}

std::span<const std::uint64_t> ParameterWorker::versions() const noexcept {
  return state_->versions;
}

}  // namespace commtune
