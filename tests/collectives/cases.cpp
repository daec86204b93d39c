#include "tests/collectives/cases.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace commtune::test {
namespace {

constexpr std::uint64_t small_wave = 320;  ///< bytes

std::vector<std::uint64_t> counts_at(Rank size) {
  const auto n = static_cast<std::uint64_t>(size);
  return {0, 1, n - 1, n, n + 1, 1000, 70001};
}

Limits limits_at(std::size_t number, std::uint64_t count) {
  const std::uint64_t wave = count > 5000 ? 100 * small_wave : small_wave;
  switch (number % 4) {
    case 0:
      return {.window = 1, .waves_in_flight = 3, .wave_bytes = wave, .first_lane = 7};
    case 1:
      return {.waves_in_flight = 1, .wave_bytes = wave};
    default:
      return {};
  }
}

}  // namespace

std::string text_of(const Case& task, Rank size) {
  const Call& call = task.call;
  return fmt::format("{}/{}{} P={} count {} {} {} root {}{}, {} memory + {}, waves of {} bytes",
                     name(call.collective), task.algorithm->name,
                     describe(task.params, task.algorithm->tunables), size, call.count,
                     name(call.type), name(call.op), call.root, call.in_place ? " in place" : "",
                     task.mixed    ? "mixed"
                     : task.shared ? "shared"
                                   : "private",
                     task.shift, static_cast<std::int64_t>(task.limits.wave_bytes));
}

std::vector<Params> variants_of(const Algorithm& algorithm, Rank size) {
  const auto reads = [&](std::string_view knob) {
    return algorithm.tunables.find(knob) != std::string_view::npos;
  };
  std::vector<Params> asked{{}};
  if (reads("segments")) asked.push_back({.segments = 3});
  if (reads("radix")) asked.insert(asked.end(), {{.radix = 3}, {.radix = 4}});
  if (reads("channels")) asked.push_back({.channels = 2});
  if (reads("leaders")) asked.push_back({.leaders = 2, .group = 4});
  if (reads("group")) asked.insert(asked.end(), {{.group = 3}, {.segments = 2, .group = 4}});
  if (reads("cluster")) asked.push_back({.group = 2, .cluster = 2});
  std::vector<Params> accepted;
  for (const Params& each : asked) {
    if (refusal(algorithm, {0, size, 0, false}, each).empty()) accepted.push_back(each);
  }
  return accepted;
}

std::vector<Arithmetic> arithmetics_of(Collective collective) {
  std::vector<Arithmetic> all;
  for (const DataType type : all_data_types()) {
    if (!reduces(collective)) {
      all.push_back({type, ReduceOp::sum});
      continue;
    }
    const bool scans = collective == Collective::scan || collective == Collective::exscan;
    for (const ReduceOp op : all_reduce_ops()) {
      if (op != ReduceOp::avg || !scans) all.push_back({type, op});
    }
  }
  return all;
}

std::vector<Case> every_nth_case(Rank size, std::size_t step) {
  std::vector<Case> cases;
  std::size_t number = 0, position = 0;
  const auto add = [&](const Case& like) {
    for (const bool in_place : {false, true}) {
      for (const bool shared : {true, false}) {
        Case made = like;
        made.call.in_place = in_place;
        made.shared = shared;
        made.mixed = number % 5 == 4;
        made.limits = limits_at(number++, like.call.count);
        made.shift = number % 3 * size_of(made.call.type);
        const Shape shape{0, size, made.call.root, in_place};
        if (!refusal(*made.algorithm, shape, made.params).empty()) continue;
        if (position++ % step == 0) cases.push_back(made);
      }
    }
  };
  for (const Algorithm* algorithm : algorithms()) {
    const Collective collective = algorithm->collective;
    std::vector<Rank> roots{0};
    if (rooted(collective) && size > 1) roots.push_back(size - 1);
    if (rooted(collective) && size > 2) roots.push_back(size / 2);
    for (const Params& params : variants_of(*algorithm, size)) {
      if (collective == Collective::barrier) {
        cases.push_back({algorithm, params, {.collective = collective}, {}});
        continue;
      }
      for (const std::uint64_t count : counts_at(size)) {
        for (const Arithmetic& each : arithmetics_of(collective)) {
          for (const Rank root : roots) {
            add({algorithm,
                 params,
                 {.collective = collective,
                  .count = count,
                  .type = each.type,
                  .op = each.op,
                  .root = root},
                 {}});
          }
        }
      }
    }
  }
  return cases;
}

namespace {

/// How many settings before `setting` the algorithm takes part in.
std::size_t settings_before(const Algorithm& algorithm, std::size_t setting) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < setting; ++i) {
    const auto size = static_cast<Rank>(matrix_ranks[i % matrix_ranks.size()]);
    before += variants_of(algorithm, size).empty() ? 0 : 1;
  }
  return before;
}

}  // namespace

std::vector<Case> thinned_cases(Rank size, std::size_t setting) {
  std::vector<Case> cases;
  std::size_t nth = 0;
  for (const Algorithm* algorithm : algorithms()) {
    ++nth;
    const Collective collective = algorithm->collective;
    const auto variants = variants_of(*algorithm, size);
    if (variants.empty()) continue;
    if (collective == Collective::barrier) {
      for (const Params& each : variants) {
        cases.push_back({algorithm, each, {.collective = collective}, {}});
      }
      continue;
    }
    const auto arithmetics = arithmetics_of(collective);
    auto counts = counts_at(size);
    // Large vectors of many ranks take long to check: one run in eight.
    if (size > 4 && (nth + setting) % 8 != 0) counts.back() = 2003;
    const std::size_t first = settings_before(*algorithm, setting) * counts.size();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t number = first + i;
      const Arithmetic& what = arithmetics[number % arithmetics.size()];
      Case made{algorithm,
                variants[number % variants.size()],
                {.collective = collective, .count = counts[i], .type = what.type, .op = what.op},
                limits_at(number + number / 4, counts[i])};
      if (rooted(collective))
        made.call.root = static_cast<Rank>((number * 5 + nth) % static_cast<std::size_t>(size));
      made.call.in_place = (number + number / 7) % 2 == 1;
      made.shared = (number / 2 + nth) % 2 == 0;
      made.mixed = number % 5 == 4;
      made.shift = number % 3 * size_of(what.type);
      const Shape shape{0, size, made.call.root, made.call.in_place};
      if (!refusal(*algorithm, shape, made.params).empty()) made.params = {};
      cases.push_back(made);
    }
  }
  return cases;
}

}  // namespace commtune::test
