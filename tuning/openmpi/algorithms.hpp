#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/types.hpp"

namespace commtune::openmpi {

/// Releases that read the classic rules file of coll/tuned in the same way.
enum class Family : std::uint8_t { v4_1, v5_0 };
std::string_view name(Family) noexcept;  ///< "openmpi-4.1", "openmpi-5"

/// What coll/tuned compares with a rule's message size.
enum class SizeKey : std::uint8_t {
  vector_bytes,    ///< bytes of the vector: equal to bytes per rank of allreduce and broadcast
  total_bytes,     ///< bytes per rank times the number of ranks
  average_bytes,   ///< mean over the ranks
  constant,        ///< always 0: only the first rule is used
  ignores_count,   ///< type size times ranks: a threshold means nothing
  local_arguments  ///< total_bytes from this rank's own arguments: ranks may disagree
};

struct TunedAlgorithm {
  int id;
  std::string_view name;
  bool ordered;  ///< right for operators that do not commute
  Family since = Family::v4_1;
};

struct TunedCollective {
  int id;
  std::string_view name;  ///< Open MPI's name: "bcast", "reduce_scatter_block"
  SizeKey key;
  std::span<const TunedAlgorithm> algorithms;  ///< empty: rules are read and ignored
};

/// Ids in a rules file are below this.
inline constexpr long collective_count = 22;

/// All collectives by id; nullptr unless 0 <= id < collective_count.
const TunedCollective* find_collective(long id) noexcept;
/// The one that serves `collective`: broadcast is bcast, reduce_scatter is reduce_scatter_block.
/// Of sendrecv, which MPI has no collective for, one with the id -1 and no algorithms.
const TunedCollective& tuned(Collective collective) noexcept;
/// nullptr when the family has no such algorithm. Id 0 is not an algorithm: it means the default.
const TunedAlgorithm* find_algorithm(const TunedCollective&, long id, Family) noexcept;
const TunedAlgorithm* find_algorithm(const TunedCollective&, std::string_view name,
                                     Family) noexcept;

/// Empty when `algorithm` runs with `ranks` ranks; otherwise the reason.
std::string restriction(const TunedCollective&, const TunedAlgorithm&, int ranks);

/// The message size that coll/tuned computes for a call with `bytes` per rank.
std::uint64_t key_of(SizeKey, std::uint64_t bytes_per_rank, int ranks) noexcept;
/// The smallest bytes per rank whose key is at least `key`.
std::uint64_t bytes_of(SizeKey, std::uint64_t key, int ranks) noexcept;

}  // namespace commtune::openmpi
