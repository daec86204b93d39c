// BCube allreduce: a reduce-scatter and an allgather on a hypercube of mixed radix that holds all
// ranks. P = k^i j, k the radix, j without a factor k; the vector is P blocks.
//
//   scatter step i:    the ranks whose numbers differ in digit i alone, base k, share one range of
//                      blocks; they cut it in k, and each adds up the others' copies of its piece
//   last step:         the same in groups of j, all pairs at once
//   allgather step i:  the same groups, last to first, exchange their finished pieces
//
//   cost: 2(i(k-1) + j-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma
//   Wins for middle-sized and long vectors where P is k^i times a small number: it needs no fold,
//   so no rank moves more than 2n. The order of ranks is kept, bits are identical everywhere.
//   Guo, Lu, Li et al., BCube, ACM SIGCOMM 2009.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

std::vector<Rank> factors_of(Rank size, Rank radix) {
  std::vector<Rank> factors;
  for (; size % radix == 0; size /= radix) factors.push_back(radix);
  if (size > 1) factors.push_back(size);
  return factors;
}

Schedule generate(const Shape& shape, const Params& params) {
  const std::vector<Rank> factors = factors_of(shape.size, static_cast<Rank>(params.radix));
  const Fold none(shape.size, shape.size);
  const auto blocks = static_cast<std::uint32_t>(shape.size);
  return folded_allreduce(
      shape, none, blocks, [&](ScheduleBuilder& program, Rank node, BufferId partial) {
        scatter_and_gather(program, hypercube_rounds(none, node, factors), blocks, partial);
      });
}

}  // namespace

extern constinit const Algorithm allreduce_bcube{
    .collective = Collective::allreduce,
    .name = "bcube",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "reduce-scatter and allgather in groups of k ranks, then of what remains of P, "
        "2(P-1)/P n beta at any P (Guo et al. 2009)",
    .cost = "2(i(k-1) + j-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma, P = k^i j",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
