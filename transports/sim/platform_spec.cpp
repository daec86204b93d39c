#include "transports/sim/platform_spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/error.hpp"

namespace commtune::sim {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// A positive number with one of `units` behind it.
template <std::size_t N>
double quantity(const std::string& word, const std::array<std::pair<const char*, double>, N>& units,
                const char* what) {
  double value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, problem] = std::from_chars(word.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  for (const auto& [name, factor] : units) {
    const double product = value * factor;
    if (problem == std::errc{} && std::isfinite(product) && product > 0 && unit == name)
      return product;
  }
  std::string names;
  for (const auto& [name, factor] : units)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  fail(Errc::usage, "--platform: '{}' is not a {}; a positive number with one of the units {}",
       word, what, names);
}

constexpr std::array<std::pair<const char*, double>, 4> bit_rates{
    {{"K", 1e3 / 8}, {"M", 1e6 / 8}, {"G", 1e9 / 8}, {"T", 1e12 / 8}}};
constexpr std::array<std::pair<const char*, double>, 3> times{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}}};

unsigned long whole(const std::string& word, const char* what) {
  unsigned long value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, problem] = std::from_chars(word.data(), last, value);
  constexpr unsigned long most = 1UL << 20U;
  require(problem == std::errc{} && end == last && value >= 1 && value <= most,
          "--platform: '{}' is not a {} between 1 and {}", word, what, most);
  return value;
}

struct KindName {
  std::string_view name;
  PlatformSpec::Kind kind;
  std::size_t least, most;  ///< dimensions of the shape
};
constexpr std::array<KindName, 4> kinds{{{"cluster", PlatformSpec::Kind::cluster, 1, 1},
                                         {"fat-tree", PlatformSpec::Kind::fat_tree, 2, 2},
                                         {"torus", PlatformSpec::Kind::torus, 1, 6},
                                         {"dragonfly", PlatformSpec::Kind::dragonfly, 3, 3}}};

}  // namespace

unsigned long PlatformSpec::hosts() const {
  // A product that does not fit is more hosts than any platform has.
  unsigned long product = 1;
  for (const unsigned long extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product))
      return std::numeric_limits<unsigned long>::max();
  }
  return product;
}

PlatformSpec parse_platform(const std::string& text) {
  PlatformSpec spec;
  const std::size_t colon = text.find(':');
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindName& each) {
    return colon != std::string::npos && each.name == text.substr(0, colon);
  });
  require(kind != kinds.end(),
          "--platform '{}': neither a file nor one of cluster:N, fat-tree:LxH, torus:XxYxZ, "
          "dragonfly:GxRxH, each with ,BANDWIDTH,LATENCY as in cluster:64,100G,1us",
          text);
  spec.kind = kind->kind;
  const auto words = split(std::string_view(text).substr(colon + 1), ',');
  for (const std::string& word : split(words[0], 'x')) spec.shape.push_back(whole(word, "size"));
  require(spec.shape.size() >= kind->least && spec.shape.size() <= kind->most,
          "--platform '{}': {} takes {} to {} sizes joined by x, not {}", text, kind->name,
          kind->least, kind->most, spec.shape.size());
  if (words.size() > 1) spec.bandwidth = quantity(words[1], bit_rates, "bandwidth in bit/s");
  if (words.size() > 2) spec.latency = quantity(words[2], times, "latency");
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "work=free") {
      spec.free_work = true;
      continue;
    }
    const bool taper = words[i].rfind("taper=", 0) == 0;
    require(taper && spec.kind == PlatformSpec::Kind::fat_tree,
            "--platform '{}': unknown word '{}'; all take work=free, fat-tree taper=T as well",
            text, words[i]);
    spec.taper = static_cast<unsigned>(whole(words[i].substr(6), "taper"));
    require(spec.shape[1] % spec.taper == 0,
            "--platform '{}': {} hosts of a leaf over taper {} "
            "leave no whole number of up-links",
            text, spec.shape[1], spec.taper);
  }
  constexpr unsigned long most_hosts = 1UL << 20U;
  require(spec.hosts() <= most_hosts, "--platform '{}': {} hosts are more than {}", text,
          spec.hosts(), most_hosts);
  return spec;
}

}  // namespace commtune::sim
