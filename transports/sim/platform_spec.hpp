#pragma once
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace commtune::sim
