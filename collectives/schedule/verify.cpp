#include "collectives/schedule/verify.hpp"

#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/verify_passes.hpp"
#include "core/error.hpp"

namespace commtune {

std::string_view name(Violation::Kind kind) noexcept {
  switch (kind) {
    case Violation::Kind::malformed:
      return "malformed";
    case Violation::Kind::unmatched:
      return "unmatched";
    case Violation::Kind::size_mismatch:
      return "size_mismatch";
    case Violation::Kind::deadlock:
      return "deadlock";
    case Violation::Kind::race:
      return "race";
    case Violation::Kind::unwritten:
      return "unwritten";
    case Violation::Kind::wrong_value:
      return "wrong_value";
  }
  return "unknown";
}

std::optional<Violation> check_messages(const VerifyInput& input, const Matching& matching) {
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    const auto& steps = input.schedules[r].steps;
    for (StepId i = 0; i < steps.size(); ++i) {
      if (steps[i].kind != StepKind::recv) continue;
      const auto peer = static_cast<std::size_t>(steps[i].peer);
      const StepId sent = matching.partner[matching.begin[r] + i] - matching.begin[peer];
      const Step& send = input.schedules[peer].steps[sent];
      if (send.count == steps[i].count && (send.count == 0 || send.first == steps[i].first) &&
          send.joined == steps[i].joined) {
        continue;
      }
      return Violation{Violation::Kind::size_mismatch, static_cast<Rank>(r), i,
                       fmt::format("rank {} step {}: {}: its matching step {} of rank {} is: {}", r,
                                   i, describe(steps[i]), sent, peer, describe(send))};
    }
  }
  return std::nullopt;
}

std::optional<Violation> verify(Collective collective, Rank root, bool in_place,
                                const std::vector<Schedule>& schedules, Facts* facts) {
  require(!schedules.empty(), "verify: no programs given");
  require(root >= 0 && static_cast<std::size_t>(root) < schedules.size(),
          "verify: root {} is not one of the {} ranks", root, schedules.size());
  const VerifyInput input{collective, root, in_place, schedules};
  if (auto found = check_structure(input)) return found;
  Matching matching;
  if (auto found = match_messages(schedules, matching)) return found;
  if (auto found = check_messages(input, matching)) return found;
  if (auto found = check_hazards(input)) return found;
  Facts learned;
  auto found = check_execution(input, matching, learned);
  if (facts != nullptr) *facts = learned;
  return found;
}

std::optional<Violation> verify(const Algorithm& algorithm, Shape shape, const Params& params,
                                Facts* facts) {
  return verify(algorithm.collective, shape.root, shape.in_place,
                generate_all(algorithm, shape, params), facts);
}

std::vector<Schedule> generate_all(const Algorithm& algorithm, Shape shape, const Params& params) {
  require(shape.size >= 1, "{}/{}: needs at least one rank, not {}", name(algorithm.collective),
          algorithm.name, shape.size);
  const std::string refused = refusal(algorithm, shape, params);
  require(refused.empty(), "{}/{}: {}", name(algorithm.collective), algorithm.name, refused);
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(shape.size));
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    schedules.push_back(algorithm.generate(shape, params));
  }
  return schedules;
}

std::vector<VerifyCase> verify_cases(const Algorithm& algorithm, Rank size) {
  std::vector<Rank> roots{0};
  if (rooted(algorithm.collective)) {
    if (size <= 8) {
      for (Rank root = 1; root < size; ++root) roots.push_back(root);
    } else {
      roots.insert(roots.end(), {size / 2, size - 1});
    }
  }
  using Knobs = std::vector<std::uint32_t>;
  const auto grid = [&](std::string_view knob, const Knobs& tried, std::uint32_t fixed) {
    return algorithm.tunables.find(knob) == std::string_view::npos ? Knobs{fixed} : tried;
  };
  std::vector<Params> params{Params{}};
  const auto vary = [&params](std::uint32_t Params::*member, const Knobs& values) {
    std::vector<Params> varied;
    for (Params each : params) {
      for (const std::uint32_t value : values) {
        each.*member = value;
        varied.push_back(each);
      }
    }
    params = std::move(varied);
  };
  vary(&Params::segments, grid("segments", {1, 3}, 1));
  vary(&Params::radix, grid("radix", {2, 3, 4}, 2));
  vary(&Params::channels, grid("channels", {1, 2}, 1));
  vary(&Params::leaders, grid("leaders", {1, 2}, 1));
  vary(&Params::group, grid("group", {2, 3}, 2));
  vary(&Params::cluster, grid("cluster", {0, 2}, 0));
  std::vector<VerifyCase> cases;
  const bool placements = algorithm.collective != Collective::barrier;
  for (const bool in_place : {false, true}) {
    if (in_place && !placements) continue;
    for (const Rank root : roots) {
      for (const Params& each : params) {
        const Shape shape{0, size, root, in_place};
        if (refusal(algorithm, shape, each).empty()) cases.push_back({&algorithm, shape, each});
      }
    }
  }
  return cases;
}

}  // namespace commtune
