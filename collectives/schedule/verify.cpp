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

namespace {

/// Of the programs of all ranks, so that a proof takes less than 2 GiB with all that it keeps
/// beside them.
constexpr std::size_t program_budget = std::size_t{1536} << 20;

std::size_t bytes_of(const Schedule& schedule) {
  return sizeof(Schedule) + schedule.steps.capacity() * sizeof(Step) +
         schedule.first_successor.capacity() * sizeof(std::uint32_t) +
         schedule.successors.capacity() * sizeof(StepId) +
         schedule.in_degrees.capacity() * sizeof(std::uint16_t);
}

}  // namespace

std::vector<Schedule> generate_all(const Algorithm& algorithm, Shape shape, const Params& params) {
  require(shape.size >= 1, "{}/{}: needs at least one rank, not {}", name(algorithm.collective),
          algorithm.name, shape.size);
  const std::string refused = refusal(algorithm, shape, params);
  require(refused.empty(), "{}/{}: {}", name(algorithm.collective), algorithm.name, refused);
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(shape.size));
  std::size_t bytes = 0;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    schedules.push_back(algorithm.generate(shape, params));
    bytes += bytes_of(schedules.back());
    if (bytes <= program_budget) continue;
    fail(Errc::unavailable,
         "{}/{}: the programs of the first {} of {} ranks take more than {} MiB, which is all that "
         "may be used; ask for fewer ranks",
         name(algorithm.collective), algorithm.name, shape.rank + 1, shape.size,
         program_budget >> 20);
  }
  return schedules;
}

}  // namespace commtune
