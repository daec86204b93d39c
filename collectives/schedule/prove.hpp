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
  /// What led to the failure, in several lines; empty when nothing could be generated.
  std::string counterexample;
  /// Why the proof ended early: programs that are too large to be held at once.
  std::optional<std::string> untried;
  Facts facts;  ///< that hold in every case
};

struct ProofReport {
  std::vector<AlgorithmProof> algorithms;
  /// Every case of every algorithm was verified, at least one of each.
  bool proved() const noexcept;
};

/// Verifies every case of verify_cases for every algorithm at every number of ranks. A generator
/// that throws counts as a failure.
ProofReport prove(std::span<const Algorithm* const> algorithms, std::span<const int> sizes);

}  // namespace commtune
