#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Blocks [first, first + count).
struct BlockRun {
  std::uint32_t first = 0, count = 0;
  bool operator==(const BlockRun&) const = default;
};

/// Appends the parent blocks that part `part` of a sub-collective stands for, as runs in the order
/// of the part's contents; none where the part is empty. All members must get the same answer. A
/// collective that is not parted() has one part, the vector; part from*k+to of an alltoall of k
/// members goes from member `from` to member `to`.
using PartRuns = std::function<void(std::uint32_t part, std::vector<BlockRun>& runs)>;

/// Every part of the sub-collective is this run: for collectives of one part.
PartRuns one_run(BlockRun);

/// Where runs are taken apart: block b begins a new piece when b % period is in `at` (ascending).
struct Cuts {
  std::uint32_t period = 1;
  std::vector<std::uint32_t> at;
  /// The first cut behind `block`.
  std::uint32_t after(std::uint32_t block) const;
};

/// What to run among some ranks.
struct SubProgram {
  Collective collective = Collective::barrier;
  Generator generate = nullptr;
  Params params;
};

/// Where a sub-collective finds its input or leaves its output: a buffer of the parent, or an area
/// of scratch that Composer::scratch made.
struct Place {
  BufferId buffer = BufferId::output;
  std::uint32_t area = 0;
  bool operator==(const Place&) const = default;
};
inline constexpr Place parent_input{BufferId::input}, parent_output{BufferId::output};
/// Stands for an area on members that do not touch it.
inline constexpr Place no_scratch{BufferId::scratch, 0xffffffff};

struct SubCollective {
  SubProgram program;
  std::vector<Rank> members;  ///< ranks of the parent by their position in the sub-collective
  Rank root = 0;              ///< a position
  PartRuns parts = {};        ///< unused by a barrier
  Place input = parent_input, output = parent_output;
  Cuts cuts = {};  ///< needed where a member's input or output is scratch of several pieces
};

/// Writes the programs of sub-collectives into the program of a parent collective. What is mapped:
/// positions to ranks through `members`; blocks through `parts`: the S blocks of a part cut the
/// part's parent blocks as evenly as possible, block s being [s*n/S, (s+1)*n/S) of n, so S and n
/// need not divide each other; input and output to the given places; scratch slots to fresh ones. A
/// run of blocks that becomes several runs of the parent travels as one message of several slices;
/// blocks that stand for nothing are left out, with their messages. Dependencies are derived anew
/// from the parent's blocks; an order made of signals becomes a fence, which also orders whatever
/// the parent did before.
///
/// Members must call embed for the same sub-collectives in the same order, and place input and
/// output alike: a sub-collective runs in place if both are the same buffer, or if the parent runs
/// in place and neither is scratch.
class Composer {
 public:
  /// `program` outlives the composer and uses no scratch slots of its own, except those of slot().
  Composer(ScheduleBuilder& program, const Shape& parent) : program_(program), parent_(parent) {}

  /// A slot that nothing else uses.
  std::uint32_t slot();
  /// Scratch for the blocks of `runs`: one slot for each piece that is left when adjoining runs are
  /// joined, then cut. Sub-collectives may read any part of a piece and write whole pieces.
  Place scratch(std::vector<BlockRun> runs, const Cuts& cuts = {});
  /// Does nothing on ranks that are no members. Throws Error(usage) when a step writes a fraction
  /// of a piece of scratch, reads across pieces that `cuts` does not separate, or reads a block
  /// that its place does not hold.
  void embed(const SubCollective&);

 private:
  friend class Embedding;
  struct Area {
    std::vector<BlockRun> pieces;  ///< by first block
    std::uint32_t first_slot;
  };
  ScheduleBuilder& program_;
  Shape parent_;
  std::uint32_t slots_ = 0;
  std::vector<Area> areas_;
};

/// Blocks of one part in the program of `members` ranks.
std::uint32_t blocks_per_part(const SubProgram&, Rank members);

/// A number of blocks that all `counts` cut evenly if that takes at most 8 times the largest;
/// otherwise 8 times the largest, where cuts differ by about an eighth.
std::uint32_t common_blocks(std::span<const std::uint32_t> counts);

/// Adds cuts wherever the sub-collective can begin to write its output: at the runs that the root
/// of a reduce or gather writes, at every block of the others.
void add_cuts(Cuts&, const SubCollective&);

}  // namespace commtune
