#include "collectives/runtime/wave.hpp"

#include <algorithm>
#include <cstring>

namespace commtune {
namespace {

/// Local work between two polls of the transport: a large copy or reduction is cut into pieces of
/// this size, so that it does not stall the transfers in flight.
constexpr std::uint64_t piece_bytes = 256 * 1024;

bool local(StepKind kind) { return kind == StepKind::copy || kind == StepKind::reduce; }

}  // namespace

Wave::Wave(const Binding& binding, Lane lane)
    : binding_(binding),
      lane_(lane),
      shift_(binding.element_shift),
      first_successor_(binding.schedule.first_successor.data()),
      successors_(binding.schedule.successors.data()) {
  waiting_for_.resize(binding.schedule.steps.size());
  ready_.reserve(binding.schedule.steps.size());
}

void Wave::start(const Program& program, std::array<std::byte*, 3> bases) {
  steps_ = program.data();
  active_ = true;
  bases_ = bases;
  const Schedule& schedule = binding_.schedule;
  std::copy(schedule.in_degrees.begin(), schedule.in_degrees.end(), waiting_for_.begin());
  ready_.assign(binding_.roots.begin(), binding_.roots.end());
  ready_head_ = next_send_ = next_recv_ = 0;
  remaining_ = schedule.steps.size();
  local_done_ = 0;
  sends_in_flight_ = recvs_in_flight_ = 0;
}

bool Wave::advance() {
  std::uint64_t budget = piece_bytes;
  do {
    issue_recvs();
    issue_sends();
  } while (run_local(budget) && budget != 0);
  return remaining_ == 0;
}

void Wave::issue_recvs() {
  while (next_recv_ < binding_.recvs.size() && recvs_in_flight_ < binding_.window) {
    const StepId step = binding_.recvs[next_recv_];
    if (waiting_for_[step] != 0) break;
    ++next_recv_;
    const BoundStep& bound = steps_[step];
    if (bound.empty) {
      retire(step);
      continue;
    }
    ++recvs_in_flight_;
    binding_.transport.post_recv(bound.peer, lane_,
                                 {at(bound.dst_buffer, bound.dst), bound.elements << shift_},
                                 {this, step});
  }
}

void Wave::issue_sends() {
  while (next_send_ < binding_.sends.size() && sends_in_flight_ < binding_.window) {
    const StepId step = binding_.sends[next_send_];
    if (waiting_for_[step] != 0) break;
    ++next_send_;
    const BoundStep& bound = steps_[step];
    if (bound.empty) {
      retire(step);
      continue;
    }
    ++sends_in_flight_;
    binding_.transport.post_send(
        bound.peer, lane_, {at(bound.a_buffer, bound.a), bound.elements << shift_}, {this, step});
  }
}

bool Wave::run_local(std::uint64_t& budget) {
  bool any = false;
  while (ready_head_ < ready_.size() && budget != 0) {
    any = true;
    const StepId step = ready_[ready_head_];
    const BoundStep& bound = steps_[step];
    const std::uint64_t piece =
        std::min(bound.elements - local_done_, std::max(budget >> shift_, std::uint64_t{1}));
    run_piece(bound, local_done_, piece);
    local_done_ += piece;
    budget -= std::min(budget, piece << shift_);
    if (local_done_ != bound.elements) break;
    local_done_ = 0;
    ++ready_head_;
    retire(step);
  }
  return any;
}

void Wave::run_piece(const BoundStep& bound, std::uint64_t first, std::uint64_t count) const {
  if (count == 0) return;
  const std::uint64_t skip = first << shift_;
  const std::byte* a = at(bound.a_buffer, bound.a) + skip;
  std::byte* into = at(bound.dst_buffer, bound.dst) + skip;
  if (bound.kind == StepKind::copy) {
    std::memmove(into, a, count << shift_);
  } else {
    binding_.kernel(a, at(bound.b_buffer, bound.b) + skip, into, count);
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
