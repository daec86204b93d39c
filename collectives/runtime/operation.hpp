#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "collectives/schedule/algorithm.hpp"
#include "collectives/schedule/layout.hpp"
#include "transports/bootstrap.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// What to do, on which memory. `count` is the number of elements of a vector (allreduce, reduce,
/// broadcast, scan, exscan) or of each part (the parted collectives: allgather, reduce_scatter,
/// alltoall, gather, scatter, sendrecv; of alltoall a part goes from one rank to another). With
/// `counts` the parts differ: one entry per rank, alltoall P*P, [from*P+to]; `count` is then not
/// read. A buffer holds the parts that block_space() gives it, one after another; exscan leaves
/// rank 0's output alone. In place means that input and output share storage as block_space() says.
struct Call {
  Collective collective = Collective::allreduce;
  std::uint64_t count = 0;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  bool in_place = false;
  std::span<const std::byte> input = {};
  std::span<std::byte> output = {};
  std::span<const std::uint64_t> counts = {};  ///< must outlive the operation
};
/// Elements of the parts as Layout wants them.
Counts counts_of(const Call&);
std::uint64_t input_bytes(const Call&, Rank size, Rank rank);
std::uint64_t output_bytes(const Call&, Rank size, Rank rank);

/// The writable memory of a call.
struct CallMemory {
  std::span<std::byte> input, output;
};
/// Bytes that place() needs for this rank's buffers.
std::uint64_t memory_bytes(const Call&, Rank size, Rank rank);
/// Binds `call` to the start of `memory`: in place as the call says, otherwise one buffer after the
/// other, 64-byte aligned.
CallMemory place(Call& call, std::span<std::byte> memory, Rank size, Rank rank);

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
  static constexpr std::uint64_t by_cache = ~std::uint64_t{0};

  /// Sends, and recvs, in flight per wave. Sends of a transport whose peers read them in place hold
  /// no resources and are not counted.
  std::uint32_t window = 16;
  std::uint32_t waves_in_flight = 2;
  /// Bytes of a rank's part per wave; 0: one wave; by_cache: what stays in the private cache where
  /// peers read memory in place, otherwise one wave.
  std::uint64_t wave_bytes = by_cache;
  Lane first_lane = 0;  ///< uses lanes [first_lane, first_lane + waves_in_flight)
};

/// Binds the algorithm's schedule to memory on a transport: pointers, kernels, lanes and scratch
/// are resolved here. Not collective; use agree() first when arguments come from outside.
std::unique_ptr<Operation> prepare(Transport&, const Algorithm&, const Params&, const Call&,
                                   const Limits& = {});

/// Collective: throws Error(usage) on every rank, naming the ranks that differ and how, unless all
/// ranks make the same call (buffers aside; counts included). Costs one bootstrap exchange; nothing
/// is transferred.
void agree(Bootstrap&, const Call&, std::string_view algorithm);

/// Throws Error(usage) unless `call`'s spans have the sizes and the aliasing that it claims.
void check_buffers(const Call&, Rank size, Rank rank);

}  // namespace commtune
