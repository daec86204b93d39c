#include "collectives/schedule/params.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <set>

#include "core/error.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

struct NumberKnob {
  std::string_view name;
  std::uint32_t Params::*member;
  std::uint32_t least;
};
constexpr std::array number_knobs{
    NumberKnob{"segments", &Params::segments, 1}, NumberKnob{"radix", &Params::radix, 1},
    NumberKnob{"channels", &Params::channels, 1}, NumberKnob{"leaders", &Params::leaders, 1},
    NumberKnob{"group", &Params::group, 1},       NumberKnob{"cluster", &Params::cluster, 0}};

struct NameKnob {
  std::string_view name;
  std::string_view Params::*member;
};
constexpr std::array name_knobs{NameKnob{"intra", &Params::intra},
                                NameKnob{"inter", &Params::inter}};

/// Whether `knob` is one of the comma-separated words of `tunables`.
bool reads(std::string_view tunables, std::string_view knob) {
  while (!tunables.empty()) {
    const std::size_t end = std::min(tunables.find(','), tunables.size());
    if (tunables.substr(0, end) == knob) return true;
    tunables.remove_prefix(std::min(end + 1, tunables.size()));
  }
  return false;
}

/// Equal text that lives as long as the program, as Params needs it. Ranks may be threads.
std::string_view kept_text(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> texts;
  const std::lock_guard lock(mutex);
  return *texts.emplace(text).first;
}

/// Names of algorithms that exist, joined by "+".
std::string_view known_names(std::string_view text, std::string_view what) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto all = algorithms();
    require(std::any_of(all.begin(), all.end(),
                        [name](const Algorithm* algorithm) { return algorithm->name == name; }),
            "{}: there is no algorithm '{}'", what, name);
    begin = end + 1;
  }
  return kept_text(text);
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> values_of(const Params& params,
                                                                std::string_view tunables) {
  std::vector<std::pair<std::string_view, std::string>> values;
  for (const NumberKnob& knob : number_knobs) {
    if (reads(tunables, knob.name)) {
      values.emplace_back(knob.name, fmt::format("{}", params.*knob.member));
    }
  }
  for (const NameKnob& knob : name_knobs) {
    if (reads(tunables, knob.name)) values.emplace_back(knob.name, params.*knob.member);
  }
  return values;
}

std::string describe(const Params& params, std::string_view tunables) {
  std::string text;
  for (const auto& [knob, value] : values_of(params, tunables)) {
    if (!value.empty()) text += fmt::format(" {}={}", knob, value);
  }
  return text;
}

AlgorithmSpec parse_algorithm_spec(std::string_view text, std::string_view what) {
  AlgorithmSpec spec;
  const std::string_view whole = text;
  std::size_t end = std::min(text.find(':'), text.size());
  spec.name = text.substr(0, end);
  while (end < text.size()) {
    text.remove_prefix(end + 1);
    end = std::min(text.find(':'), text.size());
    const std::string_view knob = text.substr(0, end);
    const std::size_t equals = knob.find('=');
    require(equals != std::string_view::npos && equals > 0 && equals + 1 < knob.size(),
            "{} '{}': '{}' is not of the form parameter=value", what, whole, knob);
    for (const auto& [known, value] : spec.knobs) {
      require(known != knob.substr(0, equals), "{} '{}': '{}' is given twice", what, whole, known);
    }
    spec.knobs.emplace_back(knob.substr(0, equals), knob.substr(equals + 1));
  }
  require(!spec.name.empty(), "{} '{}': the algorithm's name is missing", what, whole);
  return spec;
}

Params params_of(const AlgorithmSpec& spec, const Algorithm& algorithm, std::string_view what) {
  Params params;
  for (const auto& [knob, value] : spec.knobs) {
    require(reads(algorithm.tunables, knob), "{}: {}/{} has no parameter '{}'; it reads: {}", what,
            name(algorithm.collective), algorithm.name, knob,
            algorithm.tunables.empty() ? "none" : algorithm.tunables);
    for (const NameKnob& each : name_knobs) {
      if (each.name == knob) params.*each.member = known_names(value, what);
    }
    for (const NumberKnob& each : number_knobs) {
      if (each.name != knob) continue;
      const std::uint64_t number = parse_count(value, fmt::format("{} {}", what, knob));
      constexpr std::uint64_t most = 1U << 20U;
      require(number >= each.least && number <= most, "{}: {}={} is out of range; use {} to {}",
              what, knob, value, each.least, most);
      params.*each.member = static_cast<std::uint32_t>(number);
    }
  }
  return params;
}

}  // namespace commtune
