#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "collectives/runtime/operation.hpp"

namespace commtune {

/// Test data whose every partial result is exact in every data type, so that results are compared
/// with ==, whatever order an algorithm reduces in. Element i of rank r depends on (r, i, seed).
/// Writes the whole input of `call` (not in place: `output` is poisoned too).
void fill_input(const Call&, Rank rank, Rank size, std::uint64_t seed, std::span<std::byte> input,
                std::span<std::byte> output);

struct CheckResult {
  std::uint64_t checked = 0, wrong = 0;
  std::uint64_t first_index = 0;  ///< of the first wrong element
  std::string got, expected;      ///< of the first wrong element
  /// Greatest distance of an element from the expected one in units in the last place: 0 when
  /// nothing is wrong, empty when wrong elements are integers, NaN or infinite.
  std::optional<double> max_ulp = 0;
};
/// Compares every element of this rank's output with the definition of the collective. NaN is
/// wrong.
CheckResult check_output(const Call&, Rank rank, Rank size, std::uint64_t seed);

}  // namespace commtune
