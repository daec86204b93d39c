#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/parameter_server/parameters.hpp"
#include "devices/host/reduce.hpp"

namespace commtune {

/// One server: keeps a shard, adds what workers push, answers what they pull. Non-blocking; after
/// its first use of every worker start() and progress() allocate nothing. Answers are sent from the
/// shard itself: two versions are kept, so that the next one grows while the present one is read.
class ParameterServer final : private Sink {
 public:
  static constexpr std::uint64_t until_stopped = ~std::uint64_t{0};

  /// `transport` must outlive it. Not collective. Throws Error(usage) on a worker's rank.
  ParameterServer(Transport& transport, const ParameterPlan&);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// Serves until `pulls` more pulls were answered, or every worker has stopped.
  void start(std::uint64_t pulls);
  /// True once that is so and every answer has left. Never blocks. Throws Error(peer) for a request
  /// that does not fit, naming the worker.
  bool progress();
  /// start and progress to the end, yielding when crowded.
  void run(std::uint64_t pulls = until_stopped);

  /// The present version of the shard, zeros at first. May be written while nothing is being
  /// served.
  std::span<std::byte> parameters() noexcept { return version_bytes(present_); }
  /// Updates so far: steps of all workers, asynchronous: pushes.
  std::uint64_t version() const noexcept { return version_; }

  /// Bytes that a server allocates.
  static std::uint64_t memory_bytes(const Transport&, const ParameterPlan&, Rank server);

 private:
  enum class State : std::uint8_t {
    idle,
    listening,  ///< for a request
    receiving,  ///< a gradient
    applying,   ///< the gradient is here; perhaps not its turn yet
    waiting,    ///< for the version to be pulled
    answering,
    stopped
  };
  struct Worker {
    State state = State::idle;
    int pending = 0;  ///< transfers in flight
    Rank rank = 0;
    std::uint64_t step = 0;  ///< pushes received
    int reads = 0;           ///< the version that its answer is sent from
    ParameterHeader request{}, answer{};
    View view;
    std::span<std::byte> gradient;  ///< where views are not taken
  };

  void complete(std::uint32_t id) noexcept override { --workers_[id].pending; }
  std::span<std::byte> version_bytes(int which) noexcept;
  Completion completion(Worker&) noexcept;
  bool done() const noexcept;
  void advance(Worker&);
  void listen(Worker&);
  void accept(Worker&);
  void check_request(const Worker&) const;
  void receive(Worker&);
  bool may_apply(const Worker&) const noexcept;
  void apply(Worker&);
  void answer(Worker&);

  Transport& transport_;
  const ParameterPlan plan_;
  const Shard shard_;
  const std::size_t shard_bytes_;
  const bool views_;
  const ReduceKernel add_;
  const std::uint64_t pushes_per_version_;
  Buffer memory_;
  std::vector<Worker> workers_;
  int present_ = 0;
  std::uint64_t readers_[2] = {0, 0};  ///< answers in flight from each version
  std::uint64_t version_ = 0, applied_ = 0;
  std::uint64_t answered_ = 0, target_ = 0, stopped_ = 0;
  bool moved_ = false;
};

}  // namespace commtune
