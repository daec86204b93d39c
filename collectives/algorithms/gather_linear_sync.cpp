// Linear gather with synchronisation: a rank sends its part only after the root has asked for it,
// so that at most `radix` parts are under way to the root.
//
//   The root asks `radix` ranks with empty messages, receives their parts and goes on with the next
//   `radix` ranks.
//
//   cost: 2(P-1)/k alpha + (P-1) m beta, k = `radix`, m bytes in each rank's part
//   Wins for long parts on many ranks, where an unannounced flood of messages fills the root's
//   buffers or congests its link.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include <algorithm>

#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, root = shape.root;
  const auto mine = static_cast<std::uint32_t>(shape.rank);
  ScheduleBuilder program(Collective::gather, shape, 1);
  if (shape.rank != root) {
    program.wait_signal(root);
    program.fence();
    program.send(root, in(mine));
    return std::move(program).finish();
  }
  const auto asked =
      static_cast<Rank>(std::min(std::max(params.radix, 1U), static_cast<std::uint32_t>(size)));
  for (Rank first = 1; first < size; first += asked) {
    const Rank end = std::min(first + asked, size);
    std::vector<Rank> peers;
    for (Rank k = first; k < end; ++k) peers.push_back(around(root + k, size));
    program.fence();
    signal_all(program, peers);
    for (const Rank peer : peers) program.recv(peer, out(static_cast<std::uint32_t>(peer)));
  }
  program.copy(in(mine), out(mine));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm gather_linear_sync{
    .collective = Collective::gather,
    .name = "linear_sync",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "the root asks k ranks at a time for their parts, 2(P-1)/k alpha + (P-1) m beta "
        "(Chan et al. 2007)",
    .cost = "2(P-1)/k alpha + (P-1) m beta"};

}  // namespace commtune
