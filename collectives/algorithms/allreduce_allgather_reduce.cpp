// Allgather-and-reduce allreduce: everybody's vector travels to everybody, who adds all of them up.
//
//   step k:  rank r holds the vectors of ranks r, r+1, ..., r+2^k-1; it sends them to r-2^k and
//            receives as many, or as many as are missing, from r+2^k (Bruck's allgather)
//   then:    every rank adds the P vectors in the order of ranks
//
//   cost: ceil(log2 P) alpha + (P-1) n beta + (P-1) n gamma, and P-1 vectors of scratch
//   Wins for vectors of a few elements: any P takes ceil(log2 P) steps. All ranks compute one sum
//   in the order of ranks, so the bits do not even depend on where a rank stands.
//   Bruck, Ho, Kipnis, Upfal & Weathersby, IEEE Trans. Parallel Distrib. Syst. 8(11), 1997.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::allreduce, shape, 1);
  if (size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  const auto vector_of = [&](Rank of) {
    return of == rank ? in(0) : tmp(static_cast<std::uint32_t>(of < rank ? of : of - 1), 0);
  };
  const auto vectors = [&](Rank first, Rank count) {
    std::vector<Slice> run;
    run.reserve(static_cast<std::size_t>(count));
    for (Rank i = 0; i < count; ++i) run.push_back(vector_of(around(first + i, size)));
    return run;
  };
  for (Rank held = 1; held < size; held *= 2) {
    const Rank moved = std::min(held, size - held);
    program.send(around(rank - held, size), vectors(rank, moved));
    program.recv(around(rank + held, size), vectors(rank + held, moved));
  }
  reduce_in_order(
      program, static_cast<std::uint32_t>(size),
      [&](std::uint32_t of) { return vector_of(static_cast<Rank>(of)); }, out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_allgather_reduce{
    .collective = Collective::allreduce,
    .name = "allgather_reduce",
    .generate = generate,
    .tunables = "",
    .summary =
        "Bruck allgather of all vectors, then one local sum in rank order, "
        "L alpha + (P-1) n (beta + gamma) (Bruck et al. 1997)",
    .cost = "L alpha + (P-1) n beta + (P-1) n gamma"};

}  // namespace commtune
