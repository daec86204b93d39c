#pragma once
#include <algorithm>
#include <vector>

#include "collectives/algorithms/topology.hpp"

namespace commtune {

/// Swing on a ring of a power of two of nodes: in step s node v talks to v + rho(s) if v is even,
/// else to v - rho(s), with rho(s) = 1 - 2 + 4 - ... = 1, -1, 3, -5, 11, ...
class Swing {
 public:
  explicit Swing(Rank cube) : cube_(cube) {
    Rank rho = 0, term = 1;
    for (Rank reached = 1; reached < cube; reached *= 2) {
      rho += term;
      term *= -2;
      rho_.push_back(rho);
    }
  }
  std::size_t steps() const { return rho_.size(); }
  Rank peer(Rank node, std::size_t step) const {
    return around(node % 2 == 0 ? node + rho_[step] : node - rho_[step], cube_);
  }
  /// The nodes that `node` reaches in steps first, first + 1, ..., ascending.
  std::vector<Rank> reached(Rank node, std::size_t first) const {
    std::vector<Rank> nodes{node};
    for (std::size_t step = first; step < steps(); ++step) {
      const std::size_t before = nodes.size();
      for (std::size_t i = 0; i < before; ++i) nodes.push_back(peer(nodes[i], step));
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

 private:
  Rank cube_;
  std::vector<Rank> rho_;
};

}  // namespace commtune
