#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

/// The parameters named in `tunables` with their values as text, in the order of Params.
std::vector<std::pair<std::string_view, std::string>> values_of(const Params&,
                                                                std::string_view tunables);

/// An algorithm as people write it: "ring" or "ring:segments=4:channels=2".
struct AlgorithmSpec {
  std::string name;  ///< without parameters
  std::vector<std::pair<std::string, std::string>> knobs;
};
/// Throws Error(usage) that starts with `what` on anything but name[:knob=value]....
AlgorithmSpec parse_algorithm_spec(std::string_view text, std::string_view what);
/// Default parameters with the knobs of `spec` applied. Throws Error(usage) that starts with `what`
/// on a knob that the algorithm does not read or a value that is no number (for intra and inter:
/// names of algorithms, joined by "+").
Params params_of(const AlgorithmSpec&, const Algorithm&, std::string_view what);

}  // namespace commtune
