#pragma once
#include <cstdint>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Blocks in a buffer, or in a message that is read where it lies. In a scratch slot or a message
/// they lie behind the runs [message, run) and behind the blocks from held_first on.
struct Operand {
  static constexpr std::uint32_t none = ~0U;

  Slice slice = {};
  std::uint32_t held_first = 0;
  std::uint32_t view = none;  ///< number of the view; none: in memory
  std::uint32_t message = 0, run = 0;
};

/// A step as it runs:
///   send    one operand, the start of the message
///   recv    one operand, where the message lands; viewed: none, the message stays where it is
///   copy    pairs of operands, from and to
///   reduce  the destination, then two or more sources
/// A message consists of `runs`; a signal has none.
struct PlanStep {
  StepKind kind = StepKind::send;
  bool kept = false;  ///< copy, reduce: no later step of this rank reads what it writes
  Rank peer = -1;
  std::uint32_t view = Operand::none;  ///< number of the view that a viewed recv fills
  std::uint32_t first_run = 0, runs = 0;
  std::uint32_t first_operand = 0, operands = 0;
};

/// Which messages are read where they lie. A sender's memory is then not free until the receiver
/// has read it, so a receiver that itself waits for a send may wait in a circle.
enum class ViewUse : std::uint8_t {
  none,
  /// Only where reading waits for nothing but the message and earlier ones, which cannot close a
  /// circle: in any execution the programs allow without views, the earliest unfinished message can
  /// always go on.
  cautious,
  /// Wherever the readers are local steps. Right only if completes() says so.
  full
};

/// What a transport and the caller's buffers allow.
struct Lowering {
  ViewUse views = ViewUse::none;  ///< other than none: peers read memory of the transport in place
  /// The caller's buffer is memory that peers cannot read; only with `views`.
  bool private_input = false, private_output = false;
  /// With full views: what lands in the caller's buffer is copied there by a step of the plan,
  /// which can go past the caches. Equal on all ranks.
  bool copy_views = false;
};

/// A schedule lowered to what one transport does best:
/// - the runs of a joined message are packed into scratch and unpacked from it;
/// - with views, a message whose only readers are local steps is not copied: they read it where it
///   lies, and consecutive reductions into one place become one pass over all their sources;
/// - data that leaves a private buffer is staged through scratch, which peers can read.
/// Steps stay in program order, dependencies are derived anew.
struct Plan {
  BlockSpace space;
  std::uint32_t slots = 0;
  std::vector<PlanStep> steps;
  std::vector<Operand> operands;
  std::vector<Slice> runs;                     ///< of all messages
  std::vector<std::uint32_t> first_successor;  ///< CSR, steps.size() + 1 entries
  std::vector<StepId> successors;
  std::vector<std::uint16_t> in_degrees;
  std::vector<std::uint32_t> view_readers;  ///< operands that read each view
};

Plan make_plan(const Schedule&, bool in_place, const Lowering&);

/// Whether the plans of all ranks run to their end, plans[r] being rank r's, with one receive
/// posted at a time and sends that complete when their message has been read.
bool completes(const std::vector<Plan>& plans);

}  // namespace commtune
