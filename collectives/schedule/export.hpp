#pragma once
#include <string>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

/// What a step does, without its number: "recv from 3 into scratch[0] blocks 4..5".
std::string describe(const Step&);
/// One line per step: "rank 0 step 2: recv from 3 into scratch[0] blocks 4..5 after 0,1".
std::string to_text(const Schedule&, Rank rank);
/// A Graphviz digraph of all ranks: one cluster per rank, dependency edges, message edges between.
std::string to_graphviz(const std::vector<Schedule>&, std::string_view title);

}  // namespace commtune
