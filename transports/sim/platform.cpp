#include "transports/sim/platform.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"

namespace commtune::sim {
namespace {

namespace sg = simgrid::s4u;

constexpr const char* host_speed = "1Gf";  // no computation is simulated

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
