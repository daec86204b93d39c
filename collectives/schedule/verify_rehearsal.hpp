#pragma once
#include <vector>

#include "collectives/schedule/matching.hpp"

namespace commtune {

/// Runs all ranks' programs under the hardest legal environment: in-order issue per direction, one
/// send and one recv in flight per rank, sends that complete only when matched. A message of
/// several runs is one: it passes once all its steps could, and nothing of it before.
/// Needs programs that passed check_structure and match_messages.
class Rehearsal {
 public:
  /// Told of every step when it happens. Returning false ends the run.
  class Visitor {
   public:
    Visitor() = default;
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;
    virtual ~Visitor() = default;
    virtual bool local(Rank, StepId) = 0;
    virtual bool message(Rank from, StepId send, Rank to, StepId recv) = 0;
  };
  enum class End : std::uint8_t { finished, stopped, stuck };

  Rehearsal(const std::vector<Schedule>&, const Matching&);
  /// From the start.
  End run(Visitor&);

  /// State after run().
  bool done(Rank, StepId) const;
  /// Why a step that is not done waits: for another step of its rank, or for the other end of its
  /// message.
  struct Wait {
    enum class Reason : std::uint8_t { dependency, earlier_message, other_end } reason;
    Rank rank;
    StepId step;
  };
  Wait waits_for(Rank, StepId) const;

 private:
  struct Item {
    Rank rank;
    StepId step;
  };
  /// The first send and the first recv that are not done.
  struct Heads {
    StepId send, recv;
  };
  const Schedule& program(Rank rank) const { return schedules_[static_cast<std::size_t>(rank)]; }
  const Step& step_of(Rank rank, StepId step) const { return program(rank).steps[step]; }
  std::uint32_t global(Rank rank, StepId step) const {
    return matching_.begin[static_cast<std::size_t>(rank)] + step;
  }
  Item partner(Rank rank, StepId step) const;
  StepId& head(Rank rank, StepKind kind);
  StepId next_of(Rank rank, StepKind kind, StepId from) const;
  bool posted(Rank rank, StepId step) const;
  void reset();
  void wake(Rank rank, StepId step);
  void advance(Rank rank, StepId step);
  void complete(Rank rank, StepId step);

  const std::vector<Schedule>& schedules_;
  const Matching& matching_;
  std::vector<std::uint16_t> waiting_;
  std::vector<Heads> heads_;
  std::vector<Item> ready_;
  std::size_t completed_ = 0;
};

}  // namespace commtune
