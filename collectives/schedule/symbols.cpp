#include "collectives/schedule/symbols.hpp"

#include <fmt/format.h>

namespace commtune {

std::string explain(const SymbolicValue& got, const SymbolicValue& expected, std::uint32_t block,
                    std::size_t ranks, bool summed) {
  const auto term = [&](std::size_t rank) { return contribution(static_cast<Rank>(rank), block); };
  for (std::size_t r = 0; summed && r < ranks; ++r) {
    if (combine(got, term(r)).same_terms(expected)) {
      return fmt::format("rank {}'s contribution is missing", r);
    }
    if (combine(expected, term(r)).same_terms(got)) {
      return fmt::format("rank {}'s contribution is counted twice", r);
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (got.same_terms(term(r))) return fmt::format("it holds rank {}'s input alone", r);
  }
  return summed ? "it is not the sum over all ranks" : "it holds something else";
}

}  // namespace commtune
