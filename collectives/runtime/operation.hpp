#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "collectives/schedule/algorithm.hpp"
#include "transports/bootstrap.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// What to do, on which memory. Buffer sizes follow from the collective, P = number of ranks:
///   allreduce, broadcast   input and output hold `count` elements (broadcast: input at the root)
///   allgather              input `count`, output P*count
///   reduce_scatter         input P*count, output `count`
///   barrier                count 0, no buffers
/// In place means that output's storage lies inside input's or the reverse: allreduce and broadcast
/// the same span; allgather input = output block `rank`; reduce_scatter output = input block
/// `rank`.
struct Call {
  Collective collective = Collective::allreduce;
  std::uint64_t count = 0;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  bool in_place = false;
  std::span<const std::byte> input = {};
  std::span<std::byte> output = {};
};
std::uint64_t input_bytes(const Call&, Rank size, Rank rank);
std::uint64_t output_bytes(const Call&, Rank size);

/// A collective bound to its buffers: prepared once, started many times, like MPI's persistent
/// collectives. start() and progress() allocate nothing.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void start() = 0;
  virtual bool progress() = 0;  ///< true once complete; never blocks
  /// start and progress to the end, yielding when crowded; a library's blocking call where it has
  /// one.
  virtual void run() = 0;
};

struct Limits {
  std::uint32_t window = 16;  ///< sends, and recvs, in flight per wave
  std::uint32_t waves_in_flight = 2;
  std::uint64_t wave_bytes = 0;  ///< bytes of a rank's part per wave; 0: one wave
  Lane first_lane = 0;           ///< uses lanes [first_lane, first_lane + waves_in_flight)
};

/// Binds the algorithm's schedule to memory on a transport: pointers, kernels, lanes and scratch
/// are resolved here. Not collective; use agree() first when arguments come from outside.
std::unique_ptr<Operation> prepare(Transport&, const Algorithm&, const Params&, const Call&,
                                   const Limits& = {});

/// Collective: throws Error(usage) on every rank, naming the ranks that differ and how, unless all
/// ranks make the same call (buffers aside). Costs one bootstrap exchange; nothing is transferred.
void agree(Bootstrap&, const Call&, std::string_view algorithm);

/// Throws Error(usage) unless `call`'s spans have the sizes and the aliasing that it claims.
void check_buffers(const Call&, Rank size, Rank rank);

}  // namespace commtune
