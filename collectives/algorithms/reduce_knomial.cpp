// K-nomial tree reduce: groups of k partial sums become one in every round.
//
//   Ranks are numbered v = r - root, in digits of base k. Rank v adds the vectors of the ranks that
//   differ from it in one digit below its lowest digit that is not 0, the lowest digit first, and
//   sends the sum to the rank with 0 for that digit. Up to k messages can be in flight.
//
//   cost: (k-1) ceil(log_k P)(alpha + n beta + n gamma) on one port
//   Wins over the binomial tree (k = 2) for short vectors where messages to one rank overlap.
//   Root 0 keeps the order of ranks.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include <algorithm>

#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const std::uint32_t in_flight = std::min(params.radix, static_cast<std::uint32_t>(shape.size));
  return sum_segments(shape, knomial_tree(shape, params.radix), params.segments, in_flight);
}

}  // namespace

extern constinit const Algorithm reduce_knomial{
    .collective = Collective::reduce,
    .name = "knomial",
    .generate = generate,
    .tunables = "segments,radix",
    .summary =
        "tree of radix k, (k-1) log_k P (alpha + n beta + n gamma) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "(k-1) log_k P (alpha + n beta + n gamma)",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
