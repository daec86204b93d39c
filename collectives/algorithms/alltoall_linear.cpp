// Linear alltoall: every rank sends every other rank its block, with a limit of messages under way.
//
//   step k (1..P-1):  rank r sends its block for r+k and receives the block from r-k; at most
//                     `radix` sends and as many receives at a time, 0 or P and more: all at once
//
//   cost: (P-1)(alpha + m beta) with one port per rank, m bytes in each block; alphas overlap as
//   far
//         as the limit allows
//   Wins for medium and long blocks; the limit trades overlap against congestion. In place, the
//   whole input is set aside in scratch first.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const auto block = [&](Rank from, Rank to) {
    return static_cast<std::uint32_t>(from) * static_cast<std::uint32_t>(size) +
           static_cast<std::uint32_t>(to);
  };
  ScheduleBuilder program(Collective::alltoall, shape, 1);
  const std::uint32_t row = block(rank, 0);
  const bool aside = shape.in_place && size > 1;
  if (aside) {
    program.copy(in(row, static_cast<std::uint32_t>(size)),
                 tmp(0, row, static_cast<std::uint32_t>(size)));
  }
  program.limit_in_flight(params.radix);
  for (Rank k = 1; k < size; ++k) {
    const Rank to = around(rank + k, size), from = around(rank - k, size);
    program.send(to, aside ? tmp(0, block(rank, to)) : in(block(rank, to)));
    program.recv(from, out(block(from, rank)));
  }
  program.copy(in(block(rank, rank)), out(block(rank, rank)));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm alltoall_linear{
    .collective = Collective::alltoall,
    .name = "linear",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "blocks go straight to every other rank, radix messages at a time, (P-1)(alpha + m beta) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
