// Circulant allgather: the distances are P halved again and again, rounded up, taken backwards, so
// that every message but the last round's is as even as P allows.
//
//   P = s_0 > s_1 > ... > s_L = 1 with s_{k+1} = ceil(s_k / 2)
//   round k = L..1:  rank r holds parts r, ..., r+s_k-1, sends the first s_{k-1}-s_k of them to
//                    r-s_k and receives parts r+s_k, ..., r+s_{k-1}-1 from r+s_k
//
//   cost: ceil(log2 P) alpha + (P-1) m beta at any P, m bytes in each rank's part
//   Wins for short and medium parts where P is not a power of two.
//   Traeff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv 2410.14234,
//   2024.
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  const std::vector<Rank> skips = halvings(size);
  for (std::size_t k = skips.size() - 1; k > 0; --k) {
    const Rank skip = skips[k], count = skips[k - 1] - skip;
    program.send(around(rank - skip, size), skip == 1
                                                ? std::vector{in(mine)}
                                                : ring_runs(BufferId::output, rank, count, size));
    program.recv(around(rank + skip, size), ring_runs(BufferId::output, rank + skip, count, size));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_circulant{
    .collective = Collective::allgather,
    .name = "circulant",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange over the roughly halved distances, L alpha + (P-1) m beta at any P "
        "(Traeff 2024)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
