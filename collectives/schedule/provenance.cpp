#include "collectives/schedule/provenance.hpp"

#include <algorithm>
#include <limits>

namespace commtune {

Provenance::Provenance(const VerifyInput& input, std::uint32_t block)
    : input_(input), memory_(input), nodes_(1) {
  const std::uint32_t blocks = input.schedules[0].space.blocks;
  const bool alone = memory_.group_size(1) <= 1;
  memory_.start(alone ? BlockGroup{block, block + 1} : BlockGroup{0, blocks});
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    const auto rank = static_cast<Rank>(r);
    memory_.for_each_block(rank, BufferId::input, [&](std::uint32_t each, std::uint32_t& value) {
      value = add({.rank = rank, .block = each});
    });
  }
}

void Provenance::run(const Matching& matching) {
  Rehearsal rehearsal(input_.schedules, matching);
  rehearsal.run(*this);
}

bool Provenance::local(Rank rank, StepId id) {
  const Step& step = step_of(rank, id);
  const auto a = memory_.source(rank, step);
  if (a.count == 0) return true;
  const bool reduce = step.kind == StepKind::reduce;
  const auto b = reduce ? memory_.other_source(rank, step) : a;
  const auto into = memory_.destination(rank, step);
  for (std::uint32_t i = 0; i < a.count; ++i) {
    into.values[i] = add({rank, id, a.first + i, a.values[i], reduce ? b.values[i] : nothing});
  }
  return true;
}

bool Provenance::message(Rank from, StepId send, Rank to, StepId recv) {
  const auto data = memory_.source(from, step_of(from, send));
  if (data.count == 0) return true;
  const auto into = memory_.destination(to, step_of(to, recv));
  for (std::uint32_t i = 0; i < data.count; ++i) {
    const std::uint32_t sent = add({from, send, data.first + i, data.values[i]});
    into.values[i] = add({to, recv, data.first + i, sent});
  }
  return true;
}

std::uint32_t Provenance::output(Rank rank, std::uint32_t block) {
  return *memory_.at(rank, BufferId::output, 0, block, 1).values;
}

std::vector<std::uint32_t> Provenance::history(std::uint32_t id) const {
  // Makers have lower numbers than users.
  std::vector<bool> below(id + std::size_t{1}, false);
  below[id] = true;
  std::vector<std::uint32_t> made;
  for (std::uint32_t each = id; each > nothing; --each) {
    if (!below[each] || nodes_[each].step == Node::input) continue;
    made.push_back(each);
    below[nodes_[each].a] = true;
    below[nodes_[each].b] = true;
  }
  std::reverse(made.begin(), made.end());
  return made;
}

Provenance::Terms Provenance::terms(std::uint32_t id) const {
  Terms terms;
  if (id == nothing) return terms;
  // How often each node is contained in `id`; saturates, as a broken program may double it forever.
  std::map<std::uint32_t, std::uint64_t, std::greater<>> times{{id, 1}};
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  while (!times.empty()) {
    const auto [each, n] = *times.begin();
    times.erase(times.begin());
    const Node& made = nodes_[each];
    if (made.step == Node::input) {
      terms[{made.rank, made.block}] = n;
      continue;
    }
    for (const std::uint32_t part : {made.a, made.b}) {
      if (part != nothing) times[part] = std::min(most, times[part] + n);
    }
  }
  return terms;
}

}  // namespace commtune
