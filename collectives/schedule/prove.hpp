#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/verify.hpp"

namespace commtune {

/// What verifying one algorithm took. Verification of an algorithm stops at its first failure.
struct AlgorithmProof {
  const Algorithm* algorithm = nullptr;
  std::size_t cases = 0, steps = 0, messages = 0;  ///< over all cases and ranks
  double seconds = 0;
  /// "allreduce/ring P=5 root=0 in place segments=3 radix=2: race: rank 3 step 5: ..."
  std::optional<std::string> failure;
};

struct ProofReport {
  std::vector<AlgorithmProof> algorithms;
  bool proved() const noexcept;  ///< no algorithm failed, and there was at least one case of each
};

/// Verifies every case of verify_cases for every algorithm at every number of ranks. A generator
/// that throws counts as a failure.
ProofReport prove(std::span<const Algorithm* const> algorithms, std::span<const int> sizes);

}  // namespace commtune
