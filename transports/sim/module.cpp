#include "transports/module.hpp"

#include <array>
#include <dlfcn.h>

#include "core/error.hpp"
#include "transports/sim/platform.hpp"
#include "transports/sim/sim_bootstrap.hpp"
#include "transports/sim/sim_transport.hpp"
// Needs what the s4u headers define.
#include <simgrid/version.h>

namespace commtune::sim {
namespace {

namespace sg = simgrid::s4u;

LoadedLibrary identify() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  LoadedLibrary library{"simgrid",
                        fmt::format("{}.{}", major, minor),
                        {},
                        fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR)};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&sg_version_get), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return library;
}

/// A transfer takes latency + bytes / bandwidth and shares links fairly, no more: SimGrid's
/// corrections for TCP are off. docs/simulation.md.
constexpr std::array options{"--cfg=network/model:CM02",       "--cfg=network/weight-S:0",
                             "--cfg=network/TCP-gamma:0",      "--cfg=network/crosstraffic:0",
                             "--cfg=contexts/stack-size:1024", "--log=root.thres:critical"};

void simulate(const Simulation& simulation) {
  std::array<char, 8> name{"sim"};
  std::vector<std::string> words(options.begin(), options.end());
  std::vector<char*> argv{name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(argv.size()) - 1;
  sg::Engine engine(&argc, argv.data());
  const bool charged = charges_work(simulation.platform);
  const auto hosts = create_platform(engine, simulation.platform, simulation.ranks);
  Exchange exchange(simulation.ranks, simulation.health);
  const LoadedLibrary library = identify();
  for (Rank rank = 0; rank < simulation.ranks; ++rank) {
    sg::Host* const host = hosts[static_cast<std::size_t>(rank)];
    sg::Actor::create(fmt::format("rank {}", rank), host, [&, rank, host] {
      SimTransport transport(simulation, rank, charged ? &simulation.rates : nullptr);
      SimBootstrap bootstrap(exchange, rank);
      simulation.rank_main(bootstrap, transport, library, host->get_name());
    });
  }
  engine.run();
}

constexpr TransportModule module{
    TransportModule::current_abi, "sim", identify, nullptr, nullptr, simulate};

}  // namespace
}  // namespace commtune::sim

extern "C" const commtune::TransportModule* commtune_transport_module() {
  return &commtune::sim::module;
}
