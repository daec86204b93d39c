#pragma once
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// What is left of the vector at one node of a hypercube after all halvings.
struct Halved {
  Rank node;                ///< whose parts it is
  Slice low, high;          ///< the operands of the last addition, lower ranks first
  std::uint32_t free_slot;  ///< this scratch slot and those after it are not in use
};

/// The reduce-scatter by halving on the hypercube of `fold`: in each step a node exchanges one half
/// of its run of parts for the other and adds. Distances rise from 1 or fall to 1; where they rise,
/// operands keep the order of ranks and a node ends with the parts of the node whose number is its
/// own with the bits reversed. The last addition is left to the caller. `vector` is this rank's
/// whole vector; scratch slots from `slot` on are used. The hypercube has two nodes or more.
inline Halved halve(ScheduleBuilder& program, const Fold& fold, Rank rank, Slice vector,
                    std::uint32_t slot, bool rising) {
  const Rank node = fold.node(rank);
  Rank first = 0, count = fold.cube;
  for (Rank step = 1;; step *= 2) {
    const Rank distance = rising ? step : fold.cube / (2 * step);
    const Rank peer = fold.rank(node ^ distance);
    count /= 2;
    const bool upper = (node & distance) != 0;
    const Rank kept = upper ? first + count : first, given = upper ? first : first + count;
    const auto parts = [&](Slice of, Rank begin) {
      of.first = first_part(fold, begin);
      of.count = first_part(fold, begin + count) - of.first;
      return of;
    };
    const Slice landing = parts(tmp(slot++, 0), kept), held = parts(vector, kept);
    program.send(peer, parts(vector, given));
    program.recv(peer, landing);
    const Slice low = peer < rank ? landing : held, high = peer < rank ? held : landing;
    if (count == 1) return {kept, low, high, slot};
    program.reduce(low, high, landing);
    vector = landing;
    first = kept;
  }
}

/// One part of `run`.
inline Slice only(Slice run, std::uint32_t part) { return {run.buffer, run.slot, part, 1}; }

}  // namespace commtune
