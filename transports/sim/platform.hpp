#pragma once
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace commtune::sim {

/// A described network: KIND:SHAPE,BANDWIDTH,LATENCY[,taper=T][,work=free]. Bandwidth in bit/s of
/// one link, latency in seconds from one host to the next through one switch.
///   cluster:N        every host by its own full-duplex link at a switch without limit
///   fat-tree:LxH     L leaf switches with H hosts each; taper T leaves H/T up-links
///   torus:XxYxZ      one host per point, any number of dimensions
///   dragonfly:GxRxH  G groups of R routers with H hosts each
struct PlatformSpec {
  enum class Kind : std::uint8_t { cluster, fat_tree, torus, dragonfly } kind = Kind::cluster;
  std::vector<unsigned long> shape;
  double bandwidth = 12.5e9;  ///< bytes per second
  double latency = 1e-6;      ///< seconds
  unsigned taper = 1;
  bool free_work = false;  ///< local work takes no virtual time
  unsigned long hosts() const;
};

/// Throws Error(usage) that starts with --platform and names the word that is wrong.
PlatformSpec parse_platform(const std::string& text);

/// Whether local work takes time on the platform `text`: always, unless a generated one has
/// `work=free`.
bool charges_work(const std::string& text);

/// Creates the hosts in `engine`: of the SimGrid file `text`, or of a generated platform. Empty
/// text is cluster:<ranks>,100G,1us. Returns one host per rank, in the platform's order; throws
/// Error(usage) when there are too few.
std::vector<simgrid::s4u::Host*> create_platform(simgrid::s4u::Engine& engine,
                                                 const std::string& text, Rank ranks);

}  // namespace commtune::sim
