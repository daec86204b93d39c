#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/openmpi/algorithms.hpp"
#include "tuning/table.hpp"

namespace commtune::openmpi {

/// Which algorithms a rules file may name. The library does not look at the operator when a rule
/// chooses, so some algorithms are wrong for operators that do not commute.
enum class Profile : std::uint8_t {
  safe,        ///< order-preserving algorithms only
  commutative  ///< all; for programs whose operators all commute
};
std::string_view name(Profile) noexcept;
/// Throws Error(usage) that starts with `option` and lists the profiles.
Profile parse_profile(std::string_view text, std::string_view option);

struct Emitted {
  std::string text;                   ///< the rules file
  std::vector<std::string> warnings;  ///< what the file does not carry over from the table
};

/// The classic rules file of `table`'s entries for Open MPI. Communicator sizes that were not
/// measured keep the library's decision, and so do message sizes outside the measured range. Throws
/// Error(usage) when no entry is for Open MPI or a rule names an unknown algorithm.
Emitted emit_rules(const DecisionTable& table, Family family, Profile profile);

}  // namespace commtune::openmpi
