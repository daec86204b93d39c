#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule/verify_memory.hpp"
#include "collectives/schedule/verify_rehearsal.hpp"

namespace commtune {

/// Runs the programs and remembers for one block which steps made every value it ever had.
class Provenance final : public Rehearsal::Visitor {
 public:
  static constexpr std::uint32_t nothing = 0;
  /// A rank's input (step == input), or what a step made of one or two other values.
  struct Node {
    static constexpr StepId input = 0xffffffff;
    Rank rank = 0;
    StepId step = input;
    std::uint32_t block = 0;
    std::uint32_t a = nothing, b = nothing;
  };
  /// How often each (rank, block) of the inputs is contained.
  using Terms = std::map<std::pair<Rank, std::uint32_t>, std::uint64_t>;

  Provenance(const VerifyInput&, std::uint32_t block);
  /// Needs programs in which messages match.
  void run(const Matching&);
  /// After run(): the value of a rank's output block.
  std::uint32_t output(Rank rank, std::uint32_t block);
  const Node& node(std::uint32_t id) const { return nodes_[id]; }
  Terms terms(std::uint32_t id) const;
  /// The nodes below `id` that are not inputs, makers before users.
  std::vector<std::uint32_t> history(std::uint32_t id) const;

  bool local(Rank, StepId) override;
  bool message(Rank from, StepId send, Rank to, StepId recv) override;

 private:
  const Step& step_of(Rank rank, StepId step) const {
    return input_.schedules[static_cast<std::size_t>(rank)].steps[step];
  }
  std::uint32_t add(const Node& made) {
    nodes_.push_back(made);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  const VerifyInput& input_;
  SymbolicMemory<std::uint32_t> memory_;
  std::vector<Node> nodes_;
};

}  // namespace commtune
