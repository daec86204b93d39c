// Binomial tree scatter: ranks hand on the parts of the upper half of their subtrees, so the number
// of ranks that hold parts doubles in every step.
//
//   Ranks are numbered v = r - root. Rank v receives the parts of [v, v + 2^j), 2^j its lowest set
//   bit, from v - 2^j in one message and sends those of [v + 2^i, v + 2^(i+1)) to v + 2^i for
//   i = j-1, ..., 0.
//
//   cost: ceil(log2 P) alpha + (P-1) m beta, m bytes in each rank's part
//   Wins for short parts.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) { return scatter_knomial_parts(shape, 2); }

}  // namespace

extern constinit const Algorithm scatter_binomial{
    .collective = Collective::scatter,
    .name = "binomial",
    .generate = generate,
    .tunables = "",
    .summary = "binomial tree, log2 P alpha + (P-1) m beta (Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
