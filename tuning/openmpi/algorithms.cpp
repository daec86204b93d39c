#include "tuning/openmpi/algorithms.hpp"

#include <algorithm>
#include <array>

namespace commtune::openmpi {
namespace {

using A = TunedAlgorithm;
constexpr std::array allgather{A{1, "linear", true},
                               A{2, "bruck", true},
                               A{3, "recursive_doubling", true},
                               A{4, "ring", true},
                               A{5, "neighbor", true},
                               A{6, "two_proc", true},
                               A{7, "sparbit", true, Family::v5_0}};
constexpr std::array allgatherv{A{1, "default", true},  A{2, "bruck", true},
                                A{3, "ring", true},     A{4, "neighbor", true},
                                A{5, "two_proc", true}, A{6, "sparbit", true, Family::v5_0}};
constexpr std::array allreduce{A{1, "basic_linear", true},       A{2, "nonoverlapping", true},
                               A{3, "recursive_doubling", true}, A{4, "ring", false},
                               A{5, "segmented_ring", false},    A{6, "rabenseifner", true}};
constexpr std::array alltoall{A{1, "linear", true}, A{2, "pairwise", true},
                              A{3, "modified_bruck", true}, A{4, "linear_sync", true},
                              A{5, "two_proc", true}};
constexpr std::array alltoallv{A{1, "basic_linear", true}, A{2, "pairwise", true}};
constexpr std::array barrier{
    A{1, "linear", true}, A{2, "double_ring", true}, A{3, "recursive_doubling", true},
    A{4, "bruck", true},  A{5, "two_proc", true},    A{6, "tree", true}};
constexpr std::array bcast{A{1, "basic_linear", true},
                           A{2, "chain", true},
                           A{3, "pipeline", true},
                           A{4, "split_binary_tree", true},
                           A{5, "binary_tree", true},
                           A{6, "binomial", true},
                           A{7, "knomial", true},
                           A{8, "scatter_allgather", true},
                           A{9, "scatter_allgather_ring", true}};
constexpr std::array exscan{A{1, "linear", true}, A{2, "recursive_doubling", true}};
constexpr std::array gather{A{1, "basic_linear", true}, A{2, "binomial", true},
                            A{3, "linear_sync", true}};
constexpr std::array reduce{A{1, "linear", true},      A{2, "chain", false},
                            A{3, "pipeline", false},   A{4, "binary", false},
                            A{5, "binomial", false},   A{6, "in-order_binary", true},
                            A{7, "rabenseifner", true}};
constexpr std::array reduce_scatter{A{1, "non-overlapping", true}, A{2, "recursive_halving", false},
                                    A{3, "ring", false}, A{4, "butterfly", true}};
constexpr std::array reduce_scatter_block{A{1, "basic_linear", true},
                                          A{2, "recursive_doubling", true},
                                          A{3, "recursive_halving", true}, A{4, "butterfly", true}};
constexpr std::array scan{A{1, "linear", true}, A{2, "recursive_doubling", true}};
constexpr std::array scatter{A{1, "basic_linear", true}, A{2, "binomial", true},
                             A{3, "linear_nb", true}};

constexpr std::array<TunedCollective, collective_count> collectives{{
    {0, "allgather", SizeKey::total_bytes, allgather},
    {1, "allgatherv", SizeKey::average_bytes, allgatherv},
    {2, "allreduce", SizeKey::vector_bytes, allreduce},
    {3, "alltoall", SizeKey::total_bytes, alltoall},
    {4, "alltoallv", SizeKey::constant, alltoallv},
    {5, "alltoallw", SizeKey::constant, {}},
    {6, "barrier", SizeKey::constant, barrier},
    {7, "bcast", SizeKey::vector_bytes, bcast},
    {8, "exscan", SizeKey::ignores_count, exscan},
    {9, "gather", SizeKey::local_arguments, gather},
    {10, "gatherv", SizeKey::constant, {}},
    {11, "reduce", SizeKey::vector_bytes, reduce},
    {12, "reduce_scatter", SizeKey::total_bytes, reduce_scatter},
    {13, "reduce_scatter_block", SizeKey::total_bytes, reduce_scatter_block},
    {14, "scan", SizeKey::ignores_count, scan},
    {15, "scatter", SizeKey::local_arguments, scatter},
    {16, "scatterv", SizeKey::constant, {}},
    {17, "neighbor_allgather", SizeKey::constant, {}},
    {18, "neighbor_allgatherv", SizeKey::constant, {}},
    {19, "neighbor_alltoall", SizeKey::constant, {}},
    {20, "neighbor_alltoallv", SizeKey::constant, {}},
    {21, "neighbor_alltoallw", SizeKey::constant, {}},
}};

constexpr int id_of(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
      return 2;
    case Collective::broadcast:
      return 7;
    case Collective::allgather:
      return 0;
    case Collective::reduce_scatter:
      return 13;
    case Collective::reduce:
      return 11;
    case Collective::alltoall:
      return 3;
    case Collective::gather:
      return 9;
    case Collective::scatter:
      return 15;
    case Collective::scan:
      return 14;
    case Collective::exscan:
      return 8;
    case Collective::sendrecv:
      break;
    case Collective::barrier:
      return 6;
  }
  return -1;
}
/// Of what MPI has no collective for: no rules file has rules for it.
constexpr TunedCollective no_collective{-1, "", SizeKey::constant, {}};

template <class Match>
const TunedAlgorithm* find_if(const TunedCollective& collective, Family family, Match match) {
  for (const TunedAlgorithm& algorithm : collective.algorithms) {
    if (algorithm.since <= family && match(algorithm)) return &algorithm;
  }
  return nullptr;
}

}  // namespace

std::string_view name(Family family) noexcept {
  switch (family) {
    case Family::v4_1:
      return "openmpi-4.1";
    case Family::v5_0:
      return "openmpi-5";
  }
  return "";
}

const TunedCollective* find_collective(long id) noexcept {
  return id >= 0 && id < collective_count ? &collectives[static_cast<std::size_t>(id)] : nullptr;
}

const TunedCollective& tuned(Collective collective) noexcept {
  const int id = id_of(collective);
  return id < 0 ? no_collective : collectives[static_cast<std::size_t>(id)];
}

const TunedAlgorithm* find_algorithm(const TunedCollective& collective, long id,
                                     Family family) noexcept {
  return find_if(collective, family, [&](const TunedAlgorithm& a) { return a.id == id; });
}

const TunedAlgorithm* find_algorithm(const TunedCollective& collective, std::string_view name,
                                     Family family) noexcept {
  return find_if(collective, family, [&](const TunedAlgorithm& a) { return a.name == name; });
}

std::string restriction(const TunedCollective& collective, const TunedAlgorithm& algorithm,
                        int ranks) {
  if (algorithm.name == "two_proc" && ranks != 2) return "needs exactly 2 ranks";
  if (algorithm.name == "neighbor" && ranks % 2 != 0) return "needs an even number of ranks";
  if (collective.name == "allgather" && algorithm.name == "recursive_doubling" &&
      (ranks & (ranks - 1)) != 0) {
    return "needs a power of two of ranks";
  }
  return "";
}

std::uint64_t key_of(SizeKey key, std::uint64_t bytes_per_rank, int ranks) noexcept {
  switch (key) {
    case SizeKey::vector_bytes:
    case SizeKey::average_bytes:
      return bytes_per_rank;
    case SizeKey::total_bytes:
    case SizeKey::local_arguments:
      return bytes_per_rank * static_cast<std::uint64_t>(ranks);
    case SizeKey::constant:
    case SizeKey::ignores_count:
      return 0;
  }
  return bytes_per_rank;
}

std::uint64_t bytes_of(SizeKey key, std::uint64_t value, int ranks) noexcept {
  const auto divisor = key_of(key, 1, ranks);
  return divisor == 0 ? 0 : (value + divisor - 1) / divisor;
}

}  // namespace commtune::openmpi
