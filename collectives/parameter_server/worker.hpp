#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/parameter_server/parameters.hpp"
#include "collectives/runtime/operation.hpp"

namespace commtune {

/// One worker, bound to its gradient and to where the parameters go. Its operations allocate
/// nothing after the first use of every server. A server takes a worker's requests in the order in
/// which they were started, so a push and the pull after it may be in flight together.
class ParameterWorker {
 public:
  /// Both spans hold the whole vector of the plan; `transport` and they must outlive it. Not
  /// collective. Throws Error(usage) on a server's rank or for spans of other sizes.
  ParameterWorker(Transport& transport, const ParameterPlan&, std::span<const std::byte> gradient,
                  std::span<std::byte> parameters);
  ~ParameterWorker();

  /// Sends every server its part of the gradient: the next step of this worker. Complete when the
  /// gradient may be changed, which says nothing about other workers.
  Operation& push() noexcept;
  /// Gets every server's shard; synchronous: as it is when all workers' pushes up to this worker's
  /// last one have been added and no later ones.
  Operation& pull() noexcept;
  /// Tells the servers that nothing follows. Once.
  Operation& stop() noexcept;
  /// Push and pull in flight together, to the end of both.
  void exchange();

  /// Of every server's shard, as last pulled.
  std::span<const std::uint64_t> versions() const noexcept;

 private:
  class Request;
  class Push;
  class Pull;
  class Stop;
  struct State;
  std::unique_ptr<State> state_;
  std::unique_ptr<Push> push_;
  std::unique_ptr<Pull> pull_;
  std::unique_ptr<Stop> stop_;
};

}  // namespace commtune
