#include "transports/sim/platform.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "core/error.hpp"

namespace commtune::sim {
namespace {

namespace sg = simgrid::s4u;

constexpr const char* host_speed = "1Gf";  // no computation is simulated

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
    if (problem == std::errc{} && value > 0 && unit == name) return value * factor;
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

std::string host_name(unsigned long index) { return fmt::format("node{}", index); }

sg::NetZone* create_cluster(const PlatformSpec& spec) {
  auto* const zone = sg::create_star_zone("cluster");
  for (unsigned long i = 0; i < spec.hosts(); ++i) {
    sg::Host* const host = zone->create_host(host_name(i), host_speed);
    auto* const link = zone->create_split_duplex_link(fmt::format("link{}", i), spec.bandwidth);
    link->set_latency(spec.latency / 2)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg::LinkInRoute::Direction::UP}}, true);
  }
  return zone;
}

/// The host of one place of a generated zone. Without an inner zone there is no gateway.
std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*> place_host(
    sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
  return {zone->create_host(host_name(id), host_speed)->seal()->get_netpoint(), nullptr};
}

sg::NetZone* create_zone(const PlatformSpec& spec) {
  using Policy = sg::Link::SharingPolicy;
  const sg::ClusterCallbacks callbacks(place_host);
  const double hop = spec.latency / 2;
  const auto& shape = spec.shape;
  const auto narrow = [](unsigned long number) { return static_cast<unsigned int>(number); };
  switch (spec.kind) {
    case PlatformSpec::Kind::cluster:
      return create_cluster(spec);
    case PlatformSpec::Kind::fat_tree: {
      // One spine switch per up-link of a leaf, every leaf with one cable to each.
      const unsigned up = narrow(shape[1]) / spec.taper;
      return sg::create_fatTree_zone("fat-tree", nullptr,
                                     {2, {narrow(shape[1]), narrow(shape[0])}, {1, up}, {1, 1}},
                                     callbacks, spec.bandwidth, hop, Policy::SPLITDUPLEX);
    }
    case PlatformSpec::Kind::torus:
      return sg::create_torus_zone("torus", nullptr, shape, callbacks, spec.bandwidth, spec.latency,
                                   Policy::SPLITDUPLEX);
    case PlatformSpec::Kind::dragonfly:
      return sg::create_dragonfly_zone(
          "dragonfly", nullptr,
          {{narrow(shape[0]), 1}, {1, 1}, {narrow(shape[1]), 1}, narrow(shape[2])}, callbacks,
          spec.bandwidth, hop, Policy::SPLITDUPLEX);
  }
  fail(Errc::system, "a platform of an unknown kind");
}

}  // namespace

unsigned long PlatformSpec::hosts() const {
  return std::accumulate(shape.begin(), shape.end(), 1UL, std::multiplies<>());
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

namespace {

bool is_platform_file(const std::string& text) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(text, ignored);
}

}  // namespace

bool charges_work(const std::string& text) {
  return text.empty() || is_platform_file(text) || !parse_platform(text).free_work;
}

std::vector<sg::Host*> create_platform(sg::Engine& engine, const std::string& text, Rank ranks) {
  const std::string asked = text.empty() ? fmt::format("cluster:{}", ranks) : text;
  if (is_platform_file(asked)) {
    try {
      engine.load_platform(asked);
    } catch (const std::exception& error) {
      fail(Errc::usage, "--platform {}: {}", asked, error.what());
    }
  } else {
    create_zone(parse_platform(asked))->seal();
  }
  // SimGrid lists its hosts by name; ranks follow the numbers in the names.
  std::vector<sg::Host*> hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(), [](const sg::Host* a, const sg::Host* b) {
    const std::string &x = a->get_name(), &y = b->get_name();
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  require(static_cast<std::size_t>(ranks) <= hosts.size(),
          "--platform {}: {} hosts are too few for {} ranks, one rank runs on each", asked,
          hosts.size(), ranks);
  hosts.resize(static_cast<std::size_t>(ranks));
  return hosts;
}

}  // namespace commtune::sim
