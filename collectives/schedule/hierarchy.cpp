#include "collectives/schedule/hierarchy.hpp"

#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"

namespace commtune {
namespace {

/// The part of "a+b" for `phase`; "a" is for all phases.
std::string_view name_for(std::string_view names, std::size_t phase) {
  if (names.find('+') == std::string_view::npos) return names;
  for (; phase > 0 && !names.empty(); --phase) {
    const std::size_t plus = names.find('+');
    names = plus == std::string_view::npos ? std::string_view{} : names.substr(plus + 1);
  }
  return names.substr(0, names.find('+'));
}

bool forms_groups(const Algorithm& algorithm) {
  return algorithm.tunables.find("group") != std::string_view::npos;
}

const Algorithm& choose(const Phase& phase, std::string_view wanted, std::string_view what) {
  if (!wanted.empty()) return find_algorithm(phase.collective, wanted, what);
  const Algorithm* any = nullptr;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != phase.collective || forms_groups(*algorithm)) continue;
    if (algorithm->name == phase.preferred) return *algorithm;
    if (any == nullptr) any = algorithm;
  }
  return any != nullptr ? *any : find_algorithm(phase.collective, phase.preferred, what);
}

/// Of what a sub-program can be told, the pieces; the rest are its defaults.
Params flat(const Params& params) {
  Params inside;
  inside.segments = params.segments;
  return inside;
}

Params outer(const Params& params) {
  Params above = params;
  above.group = params.cluster;
  above.cluster = 0;
  return above;
}

std::string refuse_phase(const Phase& phase, std::string_view names, std::size_t index,
                         std::string_view what, std::span<const Rank> sizes, bool in_place,
                         const Params& params) {
  try {
    const Algorithm& algorithm = choose(phase, name_for(names, index), what);
    const auto clause = [&](const std::string& why) {
      return fmt::format("{}: {}/{}: {}", what, name(phase.collective), algorithm.name, why);
    };
    if (forms_groups(algorithm)) return clause("forms groups itself; use cluster for outer groups");
    for (const Rank size : sizes) {
      const std::string why = refusal(algorithm, {0, size, 0, in_place}, flat(params));
      if (!why.empty()) return clause(why);
    }
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<Rank> Groups::ranks(Rank group) const {
  std::vector<Rank> all(static_cast<std::size_t>(members(group)));
  std::iota(all.begin(), all.end(), first(group));
  return all;
}

std::vector<Rank> Groups::leaders(Rank position, Rank root) const {
  std::vector<Rank> all;
  for (Rank group = 0; group < count(); ++group) {
    const bool of_root = root >= 0 && of(root) == group;
    all.push_back(of_root ? root : first(group) + position % members(group));
  }
  return all;
}

BlockRun Groups::run(Rank group, std::uint32_t blocks) const {
  return {static_cast<std::uint32_t>(first(group)) * blocks,
          static_cast<std::uint32_t>(members(group)) * blocks};
}

SubProgram intra_program(const Hierarchy& hierarchy, const Params& params, std::size_t phase) {
  const Algorithm& algorithm =
      choose(hierarchy.intra[phase], name_for(params.intra, phase), "intra");
  return {algorithm.collective, algorithm.generate, flat(params)};
}

SubProgram inter_program(const Hierarchy& hierarchy, const Params& params) {
  if (params.cluster > 0) return {hierarchy.inter.collective, hierarchy.self, outer(params)};
  const Algorithm& algorithm = choose(hierarchy.inter, params.inter, "inter");
  return {algorithm.collective, algorithm.generate, flat(params)};
}

std::string refuse_groups(const Shape& shape, const Params& params, bool equal_groups) {
  if (params.group == 0) return "groups need at least one rank";
  if (params.group >= static_cast<std::uint32_t>(shape.size)) {
    return fmt::format("{} ranks in groups of {} are one group only", shape.size, params.group);
  }
  if (equal_groups && static_cast<std::uint32_t>(shape.size) % params.group != 0) {
    return fmt::format("{} ranks do not make equal groups of {}", shape.size, params.group);
  }
  return {};
}

std::string refuse(const Hierarchy& hierarchy, const Shape& shape, const Params& params) {
  auto unsuitable = refuse_groups(shape, params, hierarchy.equal_groups);
  if (!unsuitable.empty()) return unsuitable;
  const Groups groups(shape.size, params);
  const auto named =
      static_cast<std::size_t>(1 + std::count(params.intra.begin(), params.intra.end(), '+'));
  if (named > 1 && named != hierarchy.intra.size()) {
    return fmt::format("intra: {} names {} algorithms for {} phases", params.intra, named,
                       hierarchy.intra.size());
  }
  const Rank inside[] = {groups.width, groups.last_members()};
  for (std::size_t i = 0; i < hierarchy.intra.size(); ++i) {
    auto why =
        refuse_phase(hierarchy.intra[i], params.intra, i, "intra", inside, shape.in_place, params);
    if (!why.empty()) return why;
  }
  const Rank between[] = {groups.count()};
  if (params.cluster == 0) {
    return refuse_phase(hierarchy.inter, params.inter, 0, "inter", between, shape.in_place, params);
  }
  const auto why = hierarchy.refuse_self({0, groups.count(), 0, shape.in_place}, outer(params));
  return why.empty() ? why : fmt::format("outer groups, with groups for ranks: {}", why);
}

std::uint32_t blocks_for(const Hierarchy& hierarchy, const Groups& groups, const Params& params) {
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < hierarchy.intra.size(); ++i) {
    const SubProgram program = intra_program(hierarchy, params, i);
    counts.push_back(blocks_per_part(program, groups.width));
    if (groups.last_members() != groups.width) {
      counts.push_back(blocks_per_part(program, groups.last_members()));
    }
  }
  counts.push_back(blocks_per_part(inter_program(hierarchy, params), groups.count()));
  return common_blocks(counts);
}

}  // namespace commtune
