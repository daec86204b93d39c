#pragma once
#include <cstdint>
#include <string_view>

#include "transports/transport.hpp"

namespace commtune {

/// When pushed gradients become a new version of a shard.
enum class UpdateMode : std::uint8_t {
  synchronous,  ///< a step at a time: once every worker's push of it was added; pulls wait for it
  asynchronous  ///< each push at once; a pull gets the present version
};
std::string_view name(UpdateMode) noexcept;

/// A vector of parameters kept by servers: ranks 0 to `servers` - 1 keep a shard each, the other
/// ranks are workers. An update is `parameters += gradient`: what a step is worth (a learning rate,
/// a mean) is in the gradients that workers push. Equal on all ranks.
struct ParameterPlan {
  Rank servers = 1;
  std::uint64_t count = 0;
  DataType type = DataType::float32;
  UpdateMode mode = UpdateMode::synchronous;
  Lane first_lane = 0;  ///< uses two lanes: headers on the first, data on the second
};
/// Throws Error(usage) unless a job of `size` ranks has `servers` >= 1 and a worker, and the lanes.
void check_plan(const ParameterPlan&, Rank size);

/// The elements that one server keeps.
struct Shard {
  std::uint64_t begin = 0, count = 0;
};
/// Shards are consecutive and as even as possible, the first ones one element longer; with fewer
/// elements than servers the last ones are empty.
Shard shard_of(const ParameterPlan&, Rank server) noexcept;

/// What begins every message between a worker and a server. Data follows in a message of its own,
/// and only where the shard is not empty.
struct ParameterHeader {
  enum Kind : std::uint64_t { push = 1, pull, stop, answer };
  std::uint64_t kind;
  std::uint64_t step;      ///< pushes of the worker so far, this one included; answer: the version
  std::uint64_t elements;  ///< of the shard
};

}  // namespace commtune
