#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace commtune {

enum class BufferId : std::uint8_t { input, output, scratch };

/// A run of consecutive logical blocks, and the buffer that holds it. A block is the smallest unit
/// an algorithm names; its size is bound later by a Layout, so a schedule never mentions bytes.
/// Input and output hold a block at its own place. A scratch slot holds exactly one run at a time:
/// whoever reads the slot names the run that was last written into it.
struct Slice {
  BufferId buffer;
  std::uint16_t slot;  ///< scratch only
  std::uint32_t first;
  std::uint32_t count;
};
constexpr Slice in(std::uint32_t first, std::uint32_t count = 1) {
  return {BufferId::input, 0, first, count};
}
constexpr Slice out(std::uint32_t first, std::uint32_t count = 1) {
  return {BufferId::output, 0, first, count};
}
constexpr Slice tmp(std::uint32_t slot, std::uint32_t first, std::uint32_t count = 1) {
  return {BufferId::scratch, static_cast<std::uint16_t>(slot), first, count};
}

enum class StepKind : std::uint8_t { send, recv, copy, reduce };

/// One operation of one rank on one run of logical blocks. `reduce` is three-address: dst = a op b,
/// all three being the same blocks in different places. count 0 in send/recv is a bare signal.
struct Step {
  StepKind kind;
  BufferId a, b, dst;
  std::uint16_t a_slot, b_slot, dst_slot;
  std::uint32_t first, count;
  Rank peer;  ///< send, recv; -1 otherwise
  bool operator==(const Step&) const = default;
};
static_assert(sizeof(Step) == 24);

using StepId = std::uint32_t;

/// Everything that determines the shape of a schedule. Element counts are deliberately absent.
struct Shape {
  Rank rank = 0;
  Rank size = 1;
  Rank root = 0;
  bool in_place = false;
};

/// Tunable knobs; an algorithm ignores those it does not declare.
struct Params {
  std::uint32_t segments = 1;
  std::uint32_t radix = 2;
  bool operator==(const Params&) const = default;
};

/// Which logical blocks a rank's buffers hold. Blocks are numbered over the whole collective:
///   allreduce, broadcast   [0, blocks) cut the vector; input (at the root) and output hold all
///   allgather              block r*S+s is segment s of rank r; input holds rank r's, output all
///   reduce_scatter         the same numbering; input holds all, output rank r's
/// In place, input and output share storage for the blocks that both hold.
struct BlockSpace {
  struct Range {
    std::uint32_t first = 0, count = 0;
    constexpr bool holds(std::uint32_t from, std::uint32_t n) const {
      return n <= count && from >= first && from - first <= count - n;
    }
    bool operator==(const Range&) const = default;
  };
  std::uint32_t blocks = 0;
  Range input, output;
  bool operator==(const BlockSpace&) const = default;
};
/// `blocks` per vector for allreduce and broadcast, per rank for allgather and reduce_scatter.
BlockSpace block_space(Collective, const Shape&, std::uint32_t blocks);

/// The program of one rank: steps in program order plus the partial order they must respect. The
/// k-th send from i to j matches the k-th recv at j from i in program order: tags are derived.
struct Schedule {
  BlockSpace space;
  std::uint32_t slots = 0;  ///< scratch slots
  std::vector<Step> steps;
  std::vector<std::uint32_t> first_successor;  ///< CSR, steps.size() + 1 entries
  std::vector<StepId> successors;
  std::vector<std::uint16_t> in_degrees;
  std::span<const StepId> successors_of(StepId step) const noexcept {
    return std::span(successors)
        .subspan(first_successor[step], first_successor[step + 1] - first_successor[step]);
  }
};

/// Appends steps and derives every dependency from the blocks they read and write; an algorithm
/// never names an edge. Throws Error(usage) on blocks a buffer does not hold, slices of unequal
/// blocks, or a bad peer.
class ScheduleBuilder {
 public:
  ScheduleBuilder(Collective, const Shape&, std::uint32_t blocks);
  void send(Rank to, Slice from);
  void recv(Rank from, Slice into);
  void copy(Slice from, Slice into);  ///< elided when in place and both are the same storage
  void reduce(Slice a, Slice b, Slice into);
  void signal(Rank to);  ///< empty message
  void wait_signal(Rank from);
  void fence();  ///< later steps wait for all earlier ones
  Schedule finish() &&;

 private:
  struct Cell {
    std::int32_t writer = -1;
    std::vector<StepId> readers;
  };
  struct Access {
    Cell* cell;
    bool write;
  };
  Cell& cell(BufferId, std::uint32_t index);
  void touch(Slice, bool write);
  void push(Step);
  void check(Slice, bool write, const char* what);
  void check_peer(Rank peer, const char* what) const;

  Shape shape_;
  Schedule schedule_;
  std::vector<Cell> input_, output_, scratch_;
  std::vector<Access> accesses_;
  std::vector<StepId> depends_;
  std::vector<std::pair<StepId, StepId>> edges_;
  StepId epoch_ = 0, fence_ = 0;  ///< steps [epoch_, fence_) precede all steps from fence_ on
};

/// Builds the edges of `schedule` anew from `edges` (from, to); duplicates collapse.
void set_edges(Schedule& schedule, const std::vector<std::pair<StepId, StepId>>& edges);

/// Pure: equal arguments give equal schedules; no I/O, no globals, no clock.
using Generator = Schedule (*)(const Shape&, const Params&);

}  // namespace commtune
