#pragma once
#include <cstdint>
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
};
/// Compares every element of this rank's output with the definition of the collective. NaN is
/// wrong.
CheckResult check_output(const Call&, Rank rank, Rank size, std::uint64_t seed);

}  // namespace commtune
