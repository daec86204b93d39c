#include "tuning/openmpi/lint.hpp"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <set>

namespace commtune::openmpi {
namespace {

using Severity = Finding::Severity;

class Linter {
 public:
  Linter(Family family, std::vector<Finding>& findings) : family_(family), findings_(findings) {}

  void check(const RulesFile& file) {
    std::set<long> seen;
    for (const CollectiveRules& rules : file.collectives) {
      const TunedCollective* collective = find_collective(rules.id);
      if (collective == nullptr) continue;
      if (!seen.insert(rules.id).second) {
        error(rules.line, "{} appears twice: only the last one counts", collective->name);
      }
      if (collective->algorithms.empty()) {
        warning(rules.line, "coll/tuned does not implement {}: its rules are ignored",
                collective->name);
        continue;
      }
      check_blocks(*collective, rules);
    }
  }

 private:
  template <class... Args>
  void error(std::size_t line, fmt::format_string<Args...> text, Args&&... args) {
    findings_.push_back({Severity::error, line, fmt::format(text, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void warning(std::size_t line, fmt::format_string<Args...> text, Args&&... args) {
    findings_.push_back({Severity::warning, line, fmt::format(text, std::forward<Args>(args)...)});
  }

  /// Where the file broke off, the contents and the reach of the last block are not known.
  void check_blocks(const TunedCollective& collective, const CollectiveRules& rules) {
    for (std::size_t i = 0; i < rules.blocks.size(); ++i) {
      const SizeBlock& block = rules.blocks[i];
      if (i == 0 && block.ranks > 1 && changes_something(block)) {
        warning(block.line, "{}: the first block ({} ranks) also serves every smaller communicator",
                collective.name, block.ranks);
      }
      if (i > 0 && block.ranks <= rules.blocks[i - 1].ranks) {
        error(block.line, "{}: communicator size {} after {} is {}: blocks must ascend",
              collective.name, block.ranks, rules.blocks[i - 1].ranks,
              block.ranks == rules.blocks[i - 1].ranks ? "a duplicate" : "out of order");
      }
      const bool last = i + 1 == rules.blocks.size();
      const long lowest = i == 0 ? 2 : std::max(2L, block.ranks);
      const bool unknown = last && !rules.complete;
      const long highest = unknown ? lowest : last ? LONG_MAX : rules.blocks[i + 1].ranks - 1;
      if (!unknown || !block.rules.empty()) check_messages(collective, block);
      for (const MessageRule& rule : block.rules) {
        check_algorithm(collective, block, rule, lowest, highest);
      }
    }
  }

  static bool changes_something(const SizeBlock& block) {
    return std::any_of(block.rules.begin(), block.rules.end(),
                       [](const MessageRule& rule) { return rule.algorithm != 0; });
  }

  void check_messages(const TunedCollective& collective, const SizeBlock& block) {
    if (block.rules.empty()) {
      error(block.line, "{} on {} ranks has no rule for size 0", collective.name, block.ranks);
      return;
    }
    for (std::size_t i = 1; i < block.rules.size(); ++i) {
      const std::uint64_t before = block.rules[i - 1].from_key, now = block.rules[i].from_key;
      if (now <= before) {
        error(block.rules[i].line,
              "{} on {} ranks: message size {} after {} is {}: sizes must ascend", collective.name,
              block.ranks, now, before, now == before ? "a duplicate" : "out of order");
      }
    }
    if (block.rules.size() > 1) check_threshold(collective, block, block.rules[1].line);
  }

  void check_threshold(const TunedCollective& collective, const SizeBlock& block,
                       std::size_t line) {
    switch (collective.key) {
      case SizeKey::local_arguments:
        error(line,
              "{} on {} ranks: a size threshold on a rooted collective. Each rank looks at its own "
              "arguments, so ranks may choose differently: hangs and wrong data",
              collective.name, block.ranks);
        return;
      case SizeKey::ignores_count:
        warning(line, "{}: the size compared is type size times ranks, never the message",
                collective.name);
        return;
      case SizeKey::constant:
        warning(line, "{}: the size compared is always 0, only the first rule is used",
                collective.name);
        return;
      case SizeKey::vector_bytes:
      case SizeKey::total_bytes:
      case SizeKey::average_bytes:
        return;
    }
  }

  void check_algorithm(const TunedCollective& collective, const SizeBlock& block,
                       const MessageRule& rule, long lowest, long highest) {
    if (rule.algorithm == 0) return;
    const TunedAlgorithm* algorithm = find_algorithm(collective, rule.algorithm, family_);
    if (algorithm == nullptr) {
      error(rule.line, "{} on {} ranks, size {}: {} has no algorithm {}: the call fails",
            collective.name, block.ranks, rule.from_key, name(family_), rule.algorithm);
      return;
    }
    if (algorithm->name == "two_proc" && (lowest != 2 || highest != 2)) {
      error(
          rule.line,
          "{} on {} ranks, size {}: two_proc fails unless there are 2 ranks, this block serves {}",
          collective.name, block.ranks, rule.from_key,
          highest == LONG_MAX ? fmt::format("{} and more", lowest)
                              : fmt::format("{} to {}", lowest, highest));
    }
    if (algorithm->name == "neighbor" && (lowest != highest || lowest % 2 != 0)) {
      warning(rule.line, "{} on {} ranks, size {}: neighbor becomes ring where the ranks are odd",
              collective.name, block.ranks, rule.from_key);
    }
    if (!algorithm->ordered) {
      warning(rule.line,
              "{} on {} ranks, size {}: {} gives wrong results with operators that do not commute",
              collective.name, block.ranks, rule.from_key, algorithm->name);
    }
  }

  Family family_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::vector<Finding> lint(std::string_view text, Family family) {
  RulesFile file = parse_rules(text, family);
  std::vector<Finding> findings = std::move(file.findings);
  Linter(family, findings).check(file);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.line < b.line; });
  return findings;
}

std::vector<Finding> lint_file(const std::filesystem::path& path, Family family) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) {
    return {{Severity::error, 0,
             "cannot be read: Open MPI then uses its built-in decisions and says nothing"}};
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return lint(text, family);
}

}  // namespace commtune::openmpi
