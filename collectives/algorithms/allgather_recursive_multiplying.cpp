// Recursive multiplying allgather: ranks are numbered with mixed digits whose bases multiply to P,
// each the largest divisor of what is left that is at most `radix` (what is left itself when there
// is none). Phase by phase a rank exchanges all it has with the ranks that differ in one digit.
//
//   phase with base f after bases of product s: rank r holds the run of s parts that starts at
//   r - r mod s; it sends the run to the f-1 ranks of its group and receives theirs, so that runs
//   of s parts become runs of s*f
//
//   cost: the sum of (f-1) over the phases times alpha, and (P-1) m beta: with f = 2 recursive
//         doubling, with one phase the direct exchange
//   Wins for short parts where a rank can have several messages on their way. Runs stay contiguous.
//   Wilkins et al., "Generalized collective algorithms for the exascale era", CLUSTER 2023.
#include <algorithm>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The largest divisor of `rest` from 2 to `most`; `rest` when there is none.
std::uint32_t next_base(std::uint32_t rest, std::uint32_t most) {
  for (std::uint32_t base = std::min(rest, most); base >= 2; --base) {
    if (rest % base == 0) return base;
  }
  return rest;
}

Schedule generate(const Shape& shape, const Params& params) {
  const auto size = static_cast<std::uint32_t>(shape.size);
  const auto rank = static_cast<std::uint32_t>(shape.rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(rank), out(rank));
  for (std::uint32_t held = 1; held < size;) {
    const std::uint32_t base = next_base(size / held, params.radix);
    const std::uint32_t mine = rank / held % base, low = rank - mine * held;
    const auto member = [&](std::uint32_t digit) { return low + digit % base * held; };
    for (std::uint32_t ahead = 1; ahead < base; ++ahead) {
      const std::uint32_t to = member(mine + ahead), from = member(mine + base - ahead);
      program.send(static_cast<Rank>(to), out(rank - rank % held, held));
      program.recv(static_cast<Rank>(from), out(from - from % held, held));
    }
    held *= base;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_recursive_multiplying{
    .collective = Collective::allgather,
    .name = "recursive_multiplying",
    .generate = generate,
    .tunables = "radix",
    .summary = "exchange growing runs in groups of up to k ranks (Wilkins et al. 2023)",
    .cost = "sum of (f-1) alpha over the bases f of P + (P-1) m beta"};

}  // namespace commtune
