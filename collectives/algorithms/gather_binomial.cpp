// Binomial tree gather: ranks pass on what their subtrees hold, so the number of ranks that still
// have parts to send halves in every step.
//
//   Ranks are numbered v = r - root. Rank v receives the parts of the ranks [v + 2^i, v + 2^(i+1))
//   from v + 2^i for every i < j, 2^j its lowest set bit, and sends those of [v, v + 2^j) to
//   v - 2^j in one message.
//
//   cost: ceil(log2 P) alpha + (P-1) m beta, m bytes in each rank's part
//   Wins for short parts.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) { return gather_knomial_parts(shape, 2); }

}  // namespace

extern constinit const Algorithm gather_binomial{
    .collective = Collective::gather,
    .name = "binomial",
    .generate = generate,
    .tunables = "",
    .summary = "binomial tree, log2 P alpha + (P-1) m beta (Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
