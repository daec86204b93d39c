#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/openmpi/algorithms.hpp"

namespace commtune::openmpi {

/// What a check of a rules file says. Lines count from 1; 0 concerns the whole file.
struct Finding {
  enum class Severity : std::uint8_t { error, warning };
  Severity severity;
  std::size_t line;
  std::string text;
};
std::string_view name(Finding::Severity) noexcept;

struct MessageRule {
  std::uint64_t from_key = 0;  ///< in the collective's own unit, see SizeKey
  long algorithm = 0;          ///< 0: the built-in decision
  long faninout = 0, segsize = 0, max_requests = 0;
  std::size_t line = 0;
};
struct SizeBlock {
  long ranks = 0;
  std::vector<MessageRule> rules;
  std::size_t line = 0;
};
struct CollectiveRules {
  long id = 0;
  std::vector<SizeBlock> blocks;
  std::size_t line = 0;
  bool complete = true;  ///< false: the file broke off inside; what was cut is left out
};

/// A classic rules file as its author meant it.
struct RulesFile {
  std::vector<CollectiveRules> collectives;
  /// Whether the loader keeps it. When false coll/tuned drops the whole file without a word and
  /// uses its built-in decisions.
  bool accepted = false;
  /// What the reader itself notices; lint() adds what the meaning of the rules gives.
  std::vector<Finding> findings;
};

/// Reads `text` as coll/tuned does: numbers as C integer constants, '#' comments, everything else
/// skipped. Never throws; a file that the loader drops keeps the rules read so far.
RulesFile parse_rules(std::string_view text, Family family);

/// The block that coll/tuned uses on `ranks` ranks: the last in file order before one that exceeds
/// `ranks`, or the first if none fits; nullptr without rules. `accepted` is not looked at.
const SizeBlock* select_block(const RulesFile&, int collective, long ranks);

/// The rule that coll/tuned picks in that block: the last before one that exceeds `key`; nullptr
/// for the built-in decision.
const MessageRule* select(const RulesFile&, int collective, long ranks, std::uint64_t key);

}  // namespace commtune::openmpi
