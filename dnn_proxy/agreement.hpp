#pragma once
#include <string>
#include <vector>

#include "dnn_proxy/workload.hpp"

namespace commtune {

/// What must be equal on two ranks about one operation.
struct CommLine {
  std::size_t operation = 0;  ///< index in the program
  std::string text;
};

/// Throws Error(usage) at the first operation in which the ranks differ, naming its index on both
/// ranks and both values. `what` says what is compared.
void check_equal_lines(const std::vector<CommLine>& a, Rank rank_a, const std::vector<CommLine>& b,
                       Rank rank_b, std::string_view what);

}  // namespace commtune
