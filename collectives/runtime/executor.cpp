#include <algorithm>
#include <bit>
#include <deque>

#include "collectives/runtime/lowering.hpp"
#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/wave.hpp"
#include "core/backoff.hpp"
#include "core/error.hpp"
#include "devices/host/work_rates.hpp"

namespace commtune {
namespace {

Kernels kernels_for(const Call& call, Stores stores) {
  return {reduce_kernel(call.type, call.op, stores), many_reduce_kernel(call.type, call.op, stores),
          copy_kernel(stores)};
}

Binding make_binding(Transport& transport, const Plan& plan, const Call& call,
                     const Limits& limits) {
  Binding binding(transport, plan);
  // A large copy or reduction is cut into pieces, so that it does not stall the transfers in
  // flight. Simulated transfers need no polls to go on.
  constexpr std::uint64_t piece_bytes = 256 * 1024;
  binding.local_bytes = transport.capabilities().simulated_time ? UINT64_MAX : piece_bytes;
  if (const WorkRates* const rates = transport.work_rates()) {
    binding.charged = true;
    binding.copy_ns = rates->copy_ns;
    binding.reduce_ns = rates->reduce(call.type, call.op);
  }
  for (StepId id = 0; id < plan.steps.size(); ++id) {
    switch (plan.steps[id].kind) {
      case StepKind::send:
        binding.sends.push_back(id);
        break;
      case StepKind::recv:
        binding.recvs.push_back(id);
        break;
      case StepKind::copy:
      case StepKind::reduce:
        if (plan.in_degrees[id] == 0) binding.roots.push_back(id);
        break;
    }
  }
  // Results that no cache will hold by the time somebody reads them go past the caches.
  const bool large = transport.capabilities().views && leaves_caches(call, transport.size());
  binding.kernels = kernels_for(call, Stores::cached);
  binding.kept_kernels = kernels_for(call, large ? Stores::streaming : Stores::cached);
  binding.element_shift = static_cast<unsigned>(std::countr_zero(size_of(call.type)));
  binding.recv_window = limits.window;
  binding.send_window = transport.capabilities().views ? ~0U : limits.window;
  return binding;
}

/// Runs a schedule over successive windows of the buffers, a few waves in flight, each with its own
/// lane and scratch memory.
class ScheduledOperation final : public Operation {
 public:
  ScheduledOperation(Transport& transport, Plan plan, const Call& call, const Limits& limits,
                     std::uint64_t width)
      : transport_(transport),
        call_(call),
        width_(width),
        plan_(std::move(plan)),
        output_elements_(output_bytes(call, transport.size(), transport.rank()) /
                         size_of(call.type)),
        full_(plan_, call, transport.size(), width),
        binding_(make_binding(transport, plan_, call, limits)) {
    const std::uint64_t longest = counts_of(call).largest();
    wave_count_ = width_ == 0 ? 1 : (longest + width_ - 1) / width_;
    started_ = finished_ = wave_count_;
    const std::uint64_t rest = width_ == 0 ? 0 : longest - (wave_count_ - 1) * width_;
    tail_ = rest == width_ ? full_ : Program(plan_, call, transport.size(), rest);
    tail_width_ = rest;

    const auto slots = std::min<std::uint64_t>(limits.waves_in_flight, wave_count_);
    scratch_ = Buffer(transport, full_.scratch_bytes() * slots);
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      waves_.emplace_back(binding_, limits.first_lane + static_cast<Lane>(slot));
      window_of_.push_back(0);
    }
  }

  void start() override {
    require(finished_ == wave_count_, "an operation was started again before it completed");
    started_ = finished_ = 0;
    launch_free();
  }

  bool progress() override {
    if (finished_ == wave_count_) return true;
    moved_ = transport_.poll() != 0;
    std::size_t slot = 0;
    for (Wave& wave : waves_) {
      if (wave.active() && wave.advance()) {
        finish(wave, slot);
        moved_ = true;
      }
      ++slot;
    }
    if (started_ < wave_count_) launch_free();
    return finished_ == wave_count_;
  }

  void run() override {
    start();
    Backoff backoff(transport_.crowded());
    while (!progress()) {
      if (moved_) {
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  }

 private:
  /// Window w runs in slot w mod waves, on that slot's lane: a choice by whichever slot is free
  /// would differ between ranks and mismatch their messages.
  void launch_free() {
    while (started_ < wave_count_ && !waves_[started_ % waves_.size()].active()) {
      launch(started_ % waves_.size(), started_);
      ++started_;
    }
  }

  void launch(std::size_t slot, std::uint64_t window) {
    window_of_[slot] = window;
    const std::uint64_t shift = (window * width_) << binding_.element_shift;
    // Input is only read through this pointer: the verifier rejects programs that write into it.
    auto* input = const_cast<std::byte*>(call_.input.data());
    waves_[slot].start(window + 1 == wave_count_ ? tail_ : full_,
                       {input + shift, call_.output.data() + shift,
                        scratch_.bytes().data() + slot * full_.scratch_bytes()});
    waves_[slot].advance();
  }

  void finish(Wave& wave, std::size_t slot) {
    wave.release();
    ++finished_;
    if (call_.op != ReduceOp::avg || !reduces(call_.collective)) return;
    const std::uint64_t window = window_of_[slot];
    std::uint64_t elements = window + 1 == wave_count_ ? tail_width_ : width_;
    elements = std::min(elements, output_elements_);
    scale(call_.output.data() + ((window * width_) << binding_.element_shift), elements, call_.type,
          transport_.size());
  }

  Transport& transport_;
  const Call call_;
  const std::uint64_t width_;
  std::uint64_t tail_width_ = 0;
  const Plan plan_;
  const std::uint64_t output_elements_;
  Program full_, tail_ = full_;
  const Binding binding_;
  Buffer scratch_;
  std::deque<Wave> waves_;  // waves are referred to by address while transfers are in flight
  std::vector<std::uint64_t> window_of_;
  std::uint64_t wave_count_ = 1, started_ = 0, finished_ = 0;
  bool moved_ = false;
};

}  // namespace

std::unique_ptr<Operation> prepare(Transport& transport, const Algorithm& algorithm,
                                   const Params& params, const Call& call, const Limits& limits) {
  require(algorithm.collective == call.collective, "{}/{} cannot serve {}",
          name(algorithm.collective), algorithm.name, name(call.collective));
  require(call.root >= 0 && call.root < transport.size(), "root {}: the job has ranks 0 to {}",
          call.root, transport.size() - 1);
  require(limits.window >= 1 && limits.waves_in_flight >= 1,
          "limits: window and waves in flight must be at least 1");
  require(limits.first_lane + limits.waves_in_flight <= lane_count, "limits: lanes {} to {} of {}",
          limits.first_lane, limits.first_lane + limits.waves_in_flight - 1, lane_count);
  require(call.op != ReduceOp::avg ||
              (call.collective != Collective::scan && call.collective != Collective::exscan),
          "{}: the average of the first ranks is not defined; use sum", name(call.collective));
  check_buffers(call, transport.size(), transport.rank());
  const Shape shape{.rank = transport.rank(),
                    .size = transport.size(),
                    .root = call.root,
                    .in_place = call.in_place};
  const std::string refused = refusal(algorithm, shape, params);
  require(refused.empty(), "{}/{}: {}", name(algorithm.collective), algorithm.name, refused);
  const Schedule schedule = algorithm.generate(shape, params);
  const std::uint64_t width =
      wave_width(transport, {algorithm, shape, params, schedule}, call, limits);
  const Lowering lowering =
      lowering_for(transport, {algorithm, shape, params, schedule}, call, width);
  return std::make_unique<ScheduledOperation>(
      transport, make_plan(schedule, call.in_place, lowering), call, limits, width);
}

}  // namespace commtune
