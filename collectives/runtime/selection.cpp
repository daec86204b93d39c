#include "collectives/runtime/selection.hpp"

#include <bit>

#include "core/error.hpp"

namespace commtune {
namespace {

/// Latency-optimal for small messages, bandwidth-optimal beyond. Between two ranks one exchange of
/// whole vectors, read in place, wins until both vectors leave the caches (measured over shm). With
/// more, the fold costs Rabenseifner its edge unless their number is a power of two.
std::string_view allreduce_name(Rank size, std::uint64_t bytes) {
  constexpr std::uint64_t small = 8 * 1024, pair_limit = 32 * 1024 * 1024;
  const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(size));
  if (size == 2) return bytes <= pair_limit ? "direct" : "two_shot";
  if (bytes <= small) return size <= 4 ? "direct" : "recursive_doubling";
  return power_of_two ? "rabenseifner" : "ring";
}

std::string_view built_in_name(Collective collective, Rank size, std::uint64_t bytes) {
  switch (collective) {
    case Collective::allreduce:
      return allreduce_name(size, bytes);
    case Collective::broadcast:
      return bytes <= 64 * 1024 || size <= 2 ? "binomial" : "scatter_allgather";
    case Collective::allgather:
      if (size <= 4) return "direct";
      return bytes <= 8 * 1024 ? "recursive_doubling" : "ring";
    case Collective::reduce_scatter:
      if (size <= 4) return "direct";
      return bytes <= 1024 ? "recursive_halving" : "ring";
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
      return "binomial";
    case Collective::alltoall:
      if (size <= 4) return "linear";
      return bytes <= 256 ? "bruck" : "pairwise";
    case Collective::scan:
    case Collective::exscan:
      return "recursive_doubling";
    case Collective::sendrecv:
      return "direct";
    case Collective::barrier:
      return "dissemination";
  }
  return "";
}

}  // namespace

Selection select_built_in(Collective collective, Rank size, std::uint64_t bytes) {
  return {&find_algorithm(collective, built_in_name(collective, size, bytes), "built-in table"),
          Params{}, "built-in table"};
}

}  // namespace commtune
