#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace commtune {

enum class BufferId : std::uint8_t { input, output, scratch };

/// A run of consecutive logical blocks, and the buffer that holds it. A block is the smallest unit
/// an algorithm names; its size is bound later by a Layout, so a schedule never mentions bytes.
/// Input and output hold a block at its own place. A scratch slot holds exactly one run at a time:
/// whoever reads the slot names blocks of the run that was last written into it.
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
/// `joined` sends (recvs) travel in one message with the step that follows, which has the same kind
/// and peer and is joined or the last of its message.
struct Step {
  StepKind kind = StepKind::send;
  BufferId a = BufferId::input, b = BufferId::input, dst = BufferId::input;
  std::uint16_t a_slot = 0, b_slot = 0, dst_slot = 0;
  bool joined = false;
  std::uint32_t first = 0, count = 0;
  Rank peer = -1;  ///< send, recv; -1 otherwise
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
  std::uint32_t segments = 1;  ///< pieces that a rank's data is pipelined in
  std::uint32_t radix = 2;     ///< of trees and exchanges; messages in flight of linear algorithms
  std::uint32_t channels = 1;  ///< rings or trees side by side
  std::uint32_t leaders = 1;   ///< ranks of a group that talk to other groups
  std::uint32_t group = 2;     ///< ranks of a group; groups are made of consecutive ranks
  std::uint32_t cluster = 0;   ///< groups of an outer group; 0: one level of groups
  std::string_view intra = {}, inter = {};  ///< algorithms inside and between groups, by name
  bool operator==(const Params&) const = default;
};

/// Which logical blocks a rank's buffers hold. Blocks are numbered over the whole collective; S
/// is the number of blocks of a part:
///   allreduce, reduce, broadcast, scan, exscan   [0, S) cut the vector; input and output hold all,
///                      where the rank has them (input of broadcast and output of reduce: the root;
///                      output of exscan: not on rank 0)
///   allgather, gather  block r*S+s is segment s of rank r; input holds rank r's, output all
///                      (gather: at the root)
///   reduce_scatter, scatter  the same numbering; input holds all (scatter: at the root), output
///                      rank r's
///   sendrecv           the same numbering; input holds rank r's, output rank r-1's (cyclic)
///   alltoall           block (from*P+to)*S+s; input holds one rank's `from`, output its `to`
/// In place, input and output share storage: for allreduce and the like block by block, for
/// alltoall and sendrecv the i-th block of the input lies where the i-th of the output does.
struct BlockSpace {
  /// `count` blocks in runs of `run`; run k starts at first + k * stride. One run by default.
  struct Range {
    std::uint32_t first = 0, count = 0, run = count, stride = count;
    /// Whether the consecutive blocks [from, from + n) lie in one run.
    constexpr bool holds(std::uint32_t from, std::uint32_t n) const {
      if (count == 0 || n > run || from < first) return false;
      const std::uint32_t ahead = from - first;
      return ahead / stride < count / run && ahead % stride <= run - n;
    }
    /// Where a block that this range holds stands in it.
    constexpr std::uint32_t position(std::uint32_t block) const {
      const std::uint32_t ahead = block - first;
      return run == count ? ahead : ahead / stride * run + ahead % stride;
    }
    /// The block at `position`.
    constexpr std::uint32_t block(std::uint32_t position) const {
      return run == count ? first + position : first + position / run * stride + position % run;
    }
    bool operator==(const Range&) const = default;
  };
  std::uint32_t blocks = 0;
  Range input, output;
  bool operator==(const BlockSpace&) const = default;
};
/// `blocks` per vector, or per part where the collective is parted(). Throws Error(usage) beyond
/// 2^32 blocks.
BlockSpace block_space(Collective, const Shape&, std::uint32_t blocks);

/// Numbers the blocks of one rank's input and output storage, aliased when in place.
class Storage {
 public:
  Storage(const BlockSpace&, bool in_place);
  std::uint32_t cells() const noexcept { return cells_; }
  /// `buffer` is input or output and holds `block`.
  std::uint32_t cell(BufferId buffer, std::uint32_t block) const noexcept {
    return buffer == BufferId::input ? input_.position(block)
                                     : output_.position(block) + output_begin_;
  }

 private:
  BlockSpace::Range input_, output_;
  std::uint32_t output_begin_, cells_;
};

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
  /// One message made of several runs. The receiver names runs of the same blocks in the same
  /// order. Nothing happens when there are none.
  void send(Rank to, std::span<const Slice> from);
  void recv(Rank from, std::span<const Slice> into);
  void copy(Slice from, Slice into);  ///< elided when in place and both are the same storage
  void reduce(Slice a, Slice b, Slice into);
  void signal(Rank to);  ///< empty message
  void wait_signal(Rank from);
  void fence();  ///< later steps wait for all earlier ones
  /// From here on at most `messages` sends, and as many recvs, are under way at a time: each waits
  /// for the end of the one so many before it. 0: no limit.
  void limit_in_flight(std::uint32_t messages);
  Schedule finish() &&;

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  /// The last writer of a place and those who read it since then.
  struct Cell {
    StepId writer = none;
    std::uint32_t readers = none;  ///< head of a list in readers_
  };
  struct Reader {
    StepId step;
    std::uint32_t next;
  };
  template <class Visit>
  void for_each_cell(Slice, Visit);
  void depend(StepId on);
  void read(Slice);   ///< by the step that push() appends next
  void write(Slice);  ///< by the same step, after its reads
  void push(Step);
  void wait_for_turn(StepKind);
  std::vector<StepId>& issued(StepKind kind) { return kind == StepKind::send ? sends_ : recvs_; }
  void join(StepId first);
  void check(Slice, bool write, const char* what);
  void check_peer(Rank peer, const char* what) const;

  Shape shape_;
  Schedule schedule_;
  Storage storage_;
  std::vector<Cell> data_, scratch_;
  std::vector<Reader> readers_;
  std::vector<StepId> last_dependent_;  ///< per step; keeps edges unique
  std::vector<std::pair<StepId, StepId>> edges_;
  std::uint32_t limit_ = 0;
  std::vector<StepId> sends_, recvs_;  ///< last step of each message, while there is a limit
  bool continues_message_ = false;
  StepId epoch_ = 0, fence_ = 0;  ///< steps [epoch_, fence_) precede all steps from fence_ on
};

/// Builds the edges of `schedule` anew from `edges` (from, to); duplicates collapse.
void set_edges(Schedule& schedule, const std::vector<std::pair<StepId, StepId>>& edges);

/// A function of a shape and parameters: a plain function, or an object that holds data, which must
/// outlive every copy of this.
template <class Result>
class ShapeFunction {
 public:
  using Plain = Result (*)(const Shape&, const Params&);
  struct Object {
    virtual ~Object() = default;
    virtual Result operator()(const Shape&, const Params&) const = 0;
  };

  // Implicit, so that an algorithm names its functions as they are.
  constexpr ShapeFunction(std::nullptr_t) {}               // NOLINT(google-explicit-constructor)
  constexpr ShapeFunction(Plain plain) : plain_(plain) {}  // NOLINT(google-explicit-constructor)
  constexpr explicit ShapeFunction(const Object& object) : object_(&object) {}
  constexpr bool operator==(std::nullptr_t) const noexcept {
    return plain_ == nullptr && object_ == nullptr;
  }
  /// Not null.
  Result operator()(const Shape& shape, const Params& params) const {
    return object_ != nullptr ? (*object_)(shape, params) : plain_(shape, params);
  }

 private:
  Plain plain_ = nullptr;
  const Object* object_ = nullptr;
};

/// Pure: equal arguments give equal schedules; no I/O, no globals, no clock.
using Generator = ShapeFunction<Schedule>;

}  // namespace commtune
