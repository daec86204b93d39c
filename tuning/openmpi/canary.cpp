#include "tuning/openmpi/canary.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace commtune::openmpi {

RulesFile canary_of(RulesFile rules, Collective collective, int ranks,
                    const TunedAlgorithm& algorithm) {
  const int id = tuned(collective).id;
  const SizeBlock* selected = select_block(rules, id, ranks);
  if (selected == nullptr) return rules;
  for (CollectiveRules& part : rules.collectives) {
    for (SizeBlock& block : part.blocks) {
      if (&block != selected) continue;
      block.rules.clear();
      block.rules.emplace_back().algorithm = algorithm.id;
    }
  }
  return rules;
}

const TunedAlgorithm* canary_algorithm(Collective collective, int ranks, std::string_view used,
                                       Family family) {
  const TunedCollective& part = tuned(collective);
  const auto fits = [&](const TunedAlgorithm& algorithm) {
    return algorithm.ordered && algorithm.name != used && algorithm.since <= family &&
           restriction(part, algorithm, ranks).empty();
  };
  const auto found = std::find_if(part.algorithms.begin(), part.algorithms.end(), fits);
  return found == part.algorithms.end() ? nullptr : &*found;
}

std::string to_text(const RulesFile& rules) {
  std::string text = fmt::format("{}\n", rules.collectives.size());
  for (const CollectiveRules& part : rules.collectives) {
    text += fmt::format("{}\n{}\n", part.id, part.blocks.size());
    for (const SizeBlock& block : part.blocks) {
      text += fmt::format("{}\n{}\n", block.ranks, block.rules.size());
      for (const MessageRule& rule : block.rules) {
        text += fmt::format("{} {} {} {}\n", rule.from_key, rule.algorithm, rule.faninout,
                            rule.segsize);
      }
    }
  }
  return text;
}

}  // namespace commtune::openmpi
