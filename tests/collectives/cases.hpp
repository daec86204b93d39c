#pragma once
#include <string>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune::test {

/// One collective call of the matrix.
struct Case {
  const Algorithm* algorithm;
  Params params;
  Call call;  ///< without buffers
  Limits limits;
  bool shared = true;     ///< memory of the transport
  bool mixed = false;     ///< the other kind of memory on odd ranks
  std::size_t shift = 0;  ///< of the buffers beyond a cache line
};
std::string text_of(const Case&, Rank size);

inline const std::vector<int> matrix_ranks{1, 2, 3, 4, 5, 7, 8, 9, 13, 16};

/// Default parameters and one variant for each tunable value, less those that are refused.
std::vector<Params> variants_of(const Algorithm&, Rank size);
/// Types with operators: those that a reducing collective takes, otherwise all types with sum.
struct Arithmetic {
  DataType type;
  ReduceOp op;
  bool operator==(const Arithmetic&) const = default;
};
std::vector<Arithmetic> arithmetics_of(Collective);

/// Each `step`-th case of the whole product at one number of ranks: of every algorithm every
/// variant, count, placement, type, operator and memory, and up to three roots.
std::vector<Case> every_nth_case(Rank size, std::size_t step);
/// Few cases of every algorithm. `setting` tells apart the runs (a number of ranks on a transport)
/// that together cover every count, type and operator of every algorithm.
std::vector<Case> thinned_cases(Rank size, std::size_t setting);

}  // namespace commtune::test
