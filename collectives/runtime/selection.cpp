#include "collectives/runtime/selection.hpp"

#include <bit>

#include "core/error.hpp"

namespace commtune {
namespace {

std::string_view built_in_name(Collective collective, Rank size, std::uint64_t bytes) {
  // Latency-optimal up to a few KiB, bandwidth-optimal beyond; a fold costs Rabenseifner its edge
  // when the number of ranks is not a power of two.
  constexpr std::uint64_t small = 8 * 1024;
  switch (collective) {
    case Collective::allreduce:
      if (bytes <= small) return size <= 4 ? "direct" : "recursive_doubling";
      return std::has_single_bit(static_cast<std::uint32_t>(size)) ? "rabenseifner" : "ring";
    case Collective::broadcast:
      return bytes <= 64 * 1024 || size <= 2 ? "binomial" : "scatter_allgather";
    case Collective::allgather:
      return bytes <= small ? "recursive_doubling" : "ring";
    case Collective::reduce_scatter:
      return "ring";
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
