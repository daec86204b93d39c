#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

struct Violation {
  enum class Kind : std::uint8_t {
    malformed,      ///< a step names a block, slot, peer or edge that does not exist, or writes
                    ///< into the caller's input
    unmatched,      ///< a send without its recv, or the reverse
    size_mismatch,  ///< the two ends of a message name different blocks
    deadlock,
    race,       ///< two conflicting accesses without an order
    unwritten,  ///< reads data nobody wrote
    wrong_value
  };
  Kind kind;
  Rank rank;           ///< whose program is at fault, or shows the fault
  StepId step;         ///< steps.size() when it concerns the final state
  std::string detail;  ///< a sentence a reader can act on
  static constexpr std::uint32_t no_block = 0xffffffff;
  std::uint32_t block = no_block;  ///< that holds nothing or a wrong value
};
std::string_view name(Violation::Kind) noexcept;

/// What a proof found out about the programs it accepted.
struct Facts {
  /// Every result combines the ranks' inputs in the order of ranks, so the operator need not be
  /// commutative. True where nothing is combined.
  bool keeps_order = true;
};

/// Runs all ranks' programs symbolically under the hardest legal environment (in-order issue per
/// direction, one send and one recv in flight per rank, sends that complete only when matched) and
/// checks every output block of every rank against the definition of the collective, and for a
/// barrier that every rank's end depends on every rank's start. `schedules[r]` is rank r's program.
/// An allreduce must leave identical bits on all ranks: their reduction trees may differ only in
/// the order of the two operands of a reduce.
std::optional<Violation> verify(Collective, Rank root, bool in_place,
                                const std::vector<Schedule>& schedules, Facts* facts = nullptr);

/// The programs of all ranks; `shape.rank` is ignored. Throws Error(usage) where the algorithm
/// refuses the shape, Error(unavailable) where the programs take more than 1.5 GiB.
std::vector<Schedule> generate_all(const Algorithm&, Shape shape, const Params&);

/// Generates and verifies; `shape.rank` is ignored.
std::optional<Violation> verify(const Algorithm&, Shape shape, const Params&,
                                Facts* facts = nullptr);

struct VerifyCase {
  const Algorithm* algorithm;
  Shape shape;
  Params params;
};
/// The cases proved for one algorithm at `size` ranks, less those that it refuses: in and out of
/// place; where the collective is rooted every root up to 8 ranks, beyond the first, the middle and
/// the last one; and some values of each of its tunables. Up to 8 ranks every combination where
/// that is at most 200 cases, up to 64 enough cases for every pair of two such values, beyond
/// enough for every value.
std::vector<VerifyCase> verify_cases(const Algorithm&, Rank size);

}  // namespace commtune
