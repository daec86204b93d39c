#include "collectives/schedule/algorithm.hpp"

// One line per algorithm, sorted by collective as declared, then by name. The name is the file's.
#define CT_ALGORITHMS(X)                  \
  X(allreduce_allgather_reduce)           \
  X(allreduce_bcube)                      \
  X(allreduce_bine)                       \
  X(allreduce_chain)                      \
  X(allreduce_circulant)                  \
  X(allreduce_direct)                     \
  X(allreduce_double_binary_tree)         \
  X(allreduce_hierarchical)               \
  X(allreduce_knomial_scatter_allgather)  \
  X(allreduce_multi_leader)               \
  X(allreduce_rabenseifner)               \
  X(allreduce_recursive_doubling)         \
  X(allreduce_recursive_multiplying)      \
  X(allreduce_reduce_broadcast)           \
  X(allreduce_ring)                       \
  X(allreduce_split_rail)                 \
  X(allreduce_swing)                      \
  X(allreduce_swing_latency)              \
  X(allreduce_tree)                       \
  X(allreduce_two_shot)                   \
  X(reduce_binary_tree)                   \
  X(reduce_binomial)                      \
  X(reduce_chain)                         \
  X(reduce_circulant)                     \
  X(reduce_double_binary_tree)            \
  X(reduce_hierarchical)                  \
  X(reduce_in_order_binary_tree)          \
  X(reduce_knomial)                       \
  X(reduce_linear)                        \
  X(reduce_rabenseifner)                  \
  X(reduce_ring_gather)                   \
  X(broadcast_binary_tree)                \
  X(broadcast_binomial)                   \
  X(broadcast_chain)                      \
  X(broadcast_circulant)                  \
  X(broadcast_double_binary_tree)         \
  X(broadcast_hierarchical)               \
  X(broadcast_knomial)                    \
  X(broadcast_linear)                     \
  X(broadcast_scatter_allgather)          \
  X(broadcast_scatter_recursive_doubling) \
  X(broadcast_split_binary)               \
  X(allgather_bidirectional_ring)         \
  X(allgather_bruck)                      \
  X(allgather_circulant)                  \
  X(allgather_direct)                     \
  X(allgather_gather_broadcast)           \
  X(allgather_hierarchical)               \
  X(allgather_neighbor_exchange)          \
  X(allgather_pat)                        \
  X(allgather_recursive_doubling)         \
  X(allgather_recursive_multiplying)      \
  X(allgather_ring)                       \
  X(allgather_sparbit)                    \
  X(allgather_split_rail)                 \
  X(allgather_swing)                      \
  X(reduce_scatter_bidirectional_ring)    \
  X(reduce_scatter_butterfly)             \
  X(reduce_scatter_circulant)             \
  X(reduce_scatter_direct)                \
  X(reduce_scatter_hierarchical)          \
  X(reduce_scatter_pairwise)              \
  X(reduce_scatter_pat)                   \
  X(reduce_scatter_recursive_doubling)    \
  X(reduce_scatter_recursive_halving)     \
  X(reduce_scatter_reduce_then_scatter)   \
  X(reduce_scatter_ring)                  \
  X(reduce_scatter_split_rail)            \
  X(reduce_scatter_swing)                 \
  X(alltoall_bruck)                       \
  X(alltoall_hierarchical)                \
  X(alltoall_linear)                      \
  X(alltoall_pairwise)                    \
  X(alltoall_split_rail)                  \
  X(gather_binomial)                      \
  X(gather_hierarchical)                  \
  X(gather_knomial)                       \
  X(gather_linear)                        \
  X(gather_linear_sync)                   \
  X(scatter_binomial)                     \
  X(scatter_hierarchical)                 \
  X(scatter_knomial)                      \
  X(scatter_linear)                       \
  X(scan_binomial)                        \
  X(scan_linear)                          \
  X(scan_recursive_doubling)              \
  X(exscan_doubling_123)                  \
  X(exscan_linear)                        \
  X(exscan_recursive_doubling)            \
  X(sendrecv_direct)                      \
  X(sendrecv_paired)                      \
  X(barrier_dissemination)                \
  X(barrier_hierarchical)                 \
  X(barrier_linear)                       \
  X(barrier_recursive_doubling)           \
  X(barrier_ring)                         \
  X(barrier_tree)

namespace commtune {

#define CT_DECLARE(id) extern const Algorithm id;
CT_ALGORITHMS(CT_DECLARE)
#undef CT_DECLARE

std::span<const Algorithm* const> built_in_algorithms() noexcept {
#define CT_ADDRESS(id) &id,
  static constexpr const Algorithm* all[] = {CT_ALGORITHMS(CT_ADDRESS)};
#undef CT_ADDRESS
  return all;
}

}  // namespace commtune
