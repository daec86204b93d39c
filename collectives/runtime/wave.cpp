#include "collectives/runtime/wave.hpp"

#include <algorithm>

#include "collectives/runtime/plan_analysis.hpp"

namespace commtune {
namespace {

bool local(StepKind kind) { return kind == StepKind::copy || kind == StepKind::reduce; }

}  // namespace

Wave::Wave(const Binding& binding, Lane lane)
    : binding_(binding),
      lane_(lane),
      shift_(binding.element_shift),
      first_successor_(binding.plan.first_successor.data()),
      successors_(binding.plan.successors.data()),
      views_(binding.plan.view_readers.size()) {
  waiting_for_.resize(binding.plan.steps.size());
  ready_.reserve(binding.plan.steps.size());
  view_readers_.resize(views_.size());
}

void Wave::start(const Program& program, std::array<std::byte*, 3> bases) {
  steps_ = program.steps();
  operands_ = program.operands();
  active_ = true;
  bases_ = bases;
  const Plan& plan = binding_.plan;
  std::copy(plan.in_degrees.begin(), plan.in_degrees.end(), waiting_for_.begin());
  std::copy(plan.view_readers.begin(), plan.view_readers.end(), view_readers_.begin());
  ready_.assign(binding_.roots.begin(), binding_.roots.end());
  ready_head_ = next_send_ = next_recv_ = 0;
  remaining_ = plan.steps.size();
  local_done_ = 0;
  sends_in_flight_ = recvs_in_flight_ = 0;
}

bool Wave::advance() {
  std::uint64_t budget = binding_.local_bytes;
  do {
    issue_recvs();
    issue_sends();
  } while (run_local(budget) && budget != 0);
  return remaining_ == 0;
}

void Wave::issue_recvs() {
  while (next_recv_ < binding_.recvs.size() && recvs_in_flight_ < binding_.recv_window) {
    const StepId step = binding_.recvs[next_recv_];
    if (waiting_for_[step] != 0) break;
    ++next_recv_;
    const BoundStep& bound = steps_[step];
    if (bound.empty) {
      retire(step);
      continue;
    }
    ++recvs_in_flight_;
    const std::uint64_t bytes = bound.elements << shift_;
    if (bound.view != Operand::none) {
      binding_.transport.post_view(bound.peer, lane_, bytes, views_[bound.view], {this, step});
    } else {
      std::byte* const into = bound.operands == 0 ? nullptr : at(operands_[bound.first_operand]);
      binding_.transport.post_recv(bound.peer, lane_, {into, bytes}, {this, step});
    }
  }
}

void Wave::issue_sends() {
  while (next_send_ < binding_.sends.size() && sends_in_flight_ < binding_.send_window) {
    const StepId step = binding_.sends[next_send_];
    if (waiting_for_[step] != 0) break;
    ++next_send_;
    const BoundStep& bound = steps_[step];
    if (bound.empty) {
      retire(step);
      continue;
    }
    ++sends_in_flight_;
    const std::byte* const from =
        bound.operands == 0 ? nullptr : at(operands_[bound.first_operand]);
    binding_.transport.post_send(bound.peer, lane_, {from, bound.elements << shift_}, {this, step});
  }
}

bool Wave::run_local(std::uint64_t& budget) {
  bool any = false;
  while (ready_head_ < ready_.size() && budget != 0) {
    any = true;
    const StepId step = ready_[ready_head_];
    const BoundStep& bound = steps_[step];
    std::uint64_t piece = bound.elements - local_done_;
    if (bound.kind == StepKind::copy && bound.operands > 2) {
      run_copies(bound);
    } else {
      piece = std::min(piece, std::max(budget >> shift_, std::uint64_t{1}));
      if (piece != 0) run_piece(bound, local_done_, piece);
    }
    if (binding_.charged) charge(bound, piece);
    local_done_ += piece;
    budget -= std::min(budget, piece << shift_);
    if (local_done_ != bound.elements) break;
    local_done_ = 0;
    ++ready_head_;
    if (!views_.empty()) release_views(bound);
    retire(step);
  }
  return any;
}

void Wave::charge(const BoundStep& bound, std::uint64_t elements) const {
  const double ns =
      bound.kind == StepKind::copy ? binding_.copy_ns : binding_.reduce_ns * (bound.operands - 2);
  binding_.transport.elapse(static_cast<double>(elements << shift_) * ns);
}

/// All pairs of a copy at once: packing and unpacking move many short runs.
void Wave::run_copies(const BoundStep& bound) const {
  const BoundOperand* operand = operands_ + bound.first_operand;
  for (std::uint32_t i = 0; i < bound.operands; i += 2, operand += 2) {
    const std::uint64_t bytes = operand->elements << shift_;
    if (bytes != 0) binding_.kernels.copy(source(operand[0]), at(operand[1]), bytes);
  }
}

void Wave::run_piece(const BoundStep& bound, std::uint64_t first, std::uint64_t count) const {
  const Kernels& kernels = bound.kept ? binding_.kept_kernels : binding_.kernels;
  const std::uint64_t skip = first << shift_;
  const BoundOperand* const operand = operands_ + bound.first_operand;
  if (bound.kind == StepKind::copy) {
    kernels.copy(source(operand[0]) + skip, at(operand[1]) + skip, count << shift_);
    return;
  }
  std::byte* const into = at(operand[0]) + skip;
  if (bound.operands == 3) {
    kernels.reduce(source(operand[1]) + skip, source(operand[2]) + skip, into, count);
    return;
  }
  std::array<const std::byte*, PlanAnalysis::most_sources> sources;
  const std::size_t n = bound.operands - 1;
  for (std::size_t i = 0; i < n; ++i) sources[i] = source(operand[i + 1]) + skip;
  kernels.reduce_many(sources.data(), n, into, count);
}

/// Hands back the messages that `bound` was the last one to read.
void Wave::release_views(const BoundStep& bound) {
  const BoundOperand* const operand = operands_ + bound.first_operand;
  for (std::uint32_t i = 0; i < bound.operands; ++i) {
    const std::uint32_t view = operand[i].view;
    if (view == Operand::none || --view_readers_[view] != 0) continue;
    if (views_[view].data == nullptr) continue;  // an empty message was not received at all
    binding_.transport.release_view(views_[view]);
    views_[view].data = nullptr;
  }
}

void Wave::complete(std::uint32_t step) noexcept {
  if (steps_[step].kind == StepKind::send) {
    --sends_in_flight_;
  } else {
    --recvs_in_flight_;
  }
  retire(step);
}

void Wave::retire(StepId step) noexcept {
  --remaining_;
  const StepId* const end = successors_ + first_successor_[step + 1];
  for (const StepId* next = successors_ + first_successor_[step]; next != end; ++next) {
    if (--waiting_for_[*next] == 0 && local(steps_[*next].kind)) ready_.push_back(*next);
  }
}

}  // namespace commtune
