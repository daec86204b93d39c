#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/exchange/msccl_memory.hpp"

namespace commtune {

/// Where in a sender's program a send stands. `when_sent` is the order of the MSCCL program and
/// gives the shortest schedule; `when_received` puts it where its receive is, which never blocks.
enum class SendOrder : std::uint8_t { when_sent, when_received };

/// Turns MSCCL steps, told one after another in an order in which they may run, into one schedule
/// per rank. A chunk that lies where the output wants it is kept there, any other in a scratch
/// slot. Errors are Error(wrong_result): the program cannot be a right one.
class MscclTranslation {
 public:
  /// `in_place`: of the schedules; the program itself is `aliased` or not.
  MscclTranslation(const MscclProgram&, bool in_place, bool aliased, SendOrder);

  /// Names the step that is told next, for errors.
  void begin(std::string where) { where_ = std::move(where); }
  /// `message` is about to be received. Told for all that are received side by side, then run().
  void announce(std::uint32_t message);
  /// Runs `step` of `gpu`. `incoming` is the message it receives; returns the one it sends.
  std::optional<std::uint32_t> run(Rank gpu, const MscclStep& step, Rank send_peer,
                                   std::optional<std::uint32_t> incoming);
  const MscclMemory& memory(Rank gpu) const { return memories_[static_cast<std::size_t>(gpu)]; }

  /// False when messages between two ranks overtook one another, so that their sends and receives
  /// do not pair as schedules pair them.
  bool in_order() const noexcept { return in_order_; }
  /// Copies what still has to go to the output and builds the schedules.
  std::vector<Schedule> finish() &&;
  /// Output chunks that hold something else than they should, as sentences; before finish().
  std::string strays() const;

 private:
  using Chunks = std::vector<MscclChunk>;
  struct Operation {
    StepKind kind;
    Rank peer = -1;
    std::uint32_t message = 0;
    std::vector<Slice> into = {};  ///< of a recv
    Slice a = in(0), b = in(0), dst = in(0);
  };
  struct Message {
    Rank from, to;
    std::uint32_t sequence;  ///< among those between the two ranks
    Chunks chunks;           ///< without their slots once the send is in the program
    std::vector<Slice> runs;
  };

  MscclMemory& memory_of(Rank gpu) { return memories_[static_cast<std::size_t>(gpu)]; }
  std::vector<Operation>& program(Rank gpu) { return programs_[static_cast<std::size_t>(gpu)]; }
  const MscclMemory& memory_of(Rank gpu) const { return memory(gpu); }
  Chunks load(Rank gpu, MscclRun, std::uint32_t count) const;
  /// Whether the output wants `block` where a step writes it.
  bool at_home(Rank gpu, MscclRun, std::size_t index, std::uint32_t block) const;
  Chunks receive(Rank gpu, const MscclStep&, std::uint32_t message);
  Chunks receive_reduce(Rank gpu, const MscclStep&, std::uint32_t message);
  Chunks reduce(Rank gpu, const MscclStep&);
  Chunks copy(Rank gpu, const MscclStep&);
  void store(Rank gpu, const MscclStep&, const Chunks&);
  std::uint32_t send(Rank gpu, Rank to, Chunks);
  void take(const MscclStep&, std::uint32_t message);
  void require_same_blocks(const Chunks& a, const Chunks& b) const;
  /// `sums` has the places.
  void add_reduce(Rank gpu, const Chunks& a, const Chunks& b, Chunks& sums, std::size_t first,
                  std::size_t count);
  /// Chunks [first, first + count) of a run, moved to `home`: a new slot, or the output.
  void settle(Rank gpu, Chunks&, std::size_t first, std::size_t count, bool home);
  void save_pending(Rank gpu, Slice overwritten);

  const MscclProgram& source_;
  bool in_place_;
  SendOrder order_;
  std::string where_;
  std::vector<MscclMemory> memories_;
  std::vector<Storage> storages_;
  std::vector<std::vector<Operation>> programs_;
  std::vector<Message> messages_;
  std::vector<std::vector<std::uint32_t>> pending_;  ///< per sender, when_received only
  std::vector<std::uint32_t> sent_, received_;       ///< per pair of ranks
  bool in_order_ = true;
};

}  // namespace commtune
