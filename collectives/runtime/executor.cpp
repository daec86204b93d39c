#include <algorithm>
#include <bit>
#include <deque>

#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/wave.hpp"
#include "core/backoff.hpp"
#include "core/error.hpp"
#include "core/topology.hpp"

namespace commtune {
namespace {

/// What one operation knows about the caches it runs in.
struct Caches {
  std::uint64_t own = 0;     ///< private to a processor
  std::uint64_t shared = 0;  ///< of all processors of this host together
};
const Caches& caches() {
  // Asked once per process: hwloc takes milliseconds.
  static const Caches found = [] {
    const Topology topology = discover_topology();
    const auto packages = static_cast<std::uint64_t>(std::max(topology.packages, 1));
    const auto cores = static_cast<std::uint64_t>(std::max(topology.cores, 1));
    return Caches{topology.l2_bytes,
                  std::max(topology.l3_bytes * packages, topology.l2_bytes * cores)};
  }();
  return found;
}

Kernels kernels_for(const Call& call, Stores stores) {
  return {reduce_kernel(call.type, call.op, stores), many_reduce_kernel(call.type, call.op, stores),
          copy_kernel(stores)};
}

Binding make_binding(Transport& transport, const Plan& plan, const Call& call,
                     const Limits& limits) {
  Binding binding(transport, plan);
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
  const std::uint64_t bytes = input_bytes(call, transport.size(), transport.rank()) +
                              output_bytes(call, transport.size(), transport.rank());
  const bool large = transport.capabilities().views && caches().shared != 0 &&
                     bytes * static_cast<std::uint64_t>(transport.size()) > caches().shared;
  binding.kernels = kernels_for(call, Stores::cached);
  binding.kept_kernels = kernels_for(call, large ? Stores::streaming : Stores::cached);
  binding.element_shift = static_cast<unsigned>(std::countr_zero(size_of(call.type)));
  binding.recv_window = limits.window;
  binding.send_window = transport.capabilities().views ? ~0U : limits.window;
  return binding;
}

/// Whether every rank's program moves blocks of one part at a time, so that windows of the parts
/// can run one after another. All ranks must come to the same answer, so each looks at all
/// programs; with very many ranks that is not worth it.
bool can_run_in_waves(const Algorithm& algorithm, Shape shape, const Params& params) {
  constexpr Rank most = 64;
  if (!parted(algorithm.collective)) return true;
  if (shape.size > most) return false;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    const Schedule program = algorithm.generate(shape, params);
    const auto blocks = blocks_of_part(algorithm.collective, program.space, shape.size);
    if (!single_parts(program, blocks)) return false;
  }
  return true;
}

/// Elements of a part per wave.
std::uint64_t wave_width(const Transport& transport, const Algorithm& algorithm, const Shape& shape,
                         const Params& params, const Call& call, const Limits& limits) {
  const std::uint64_t element = size_of(call.type), longest = counts_of(call).largest();
  std::uint64_t bytes = limits.wave_bytes;
  if (bytes == Limits::by_cache) {
    bytes = transport.capabilities().views ? caches().own / 4 : 0;
    if (algorithm.collective == Collective::alltoall) {
      bytes = std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(shape.size), 4096);
    }
  }
  // Windows of uneven parts differ from one to the next.
  if (bytes == 0 || longest * element <= bytes || !call.counts.empty()) return longest;
  if (!can_run_in_waves(algorithm, shape, params)) return longest;
  return std::max<std::uint64_t>(1, bytes / element);
}

/// The most that can be read in place without ranks waiting for each other in a circle. Every rank
/// comes to the same answer, from the programs of all; with very many ranks that is not worth it.
ViewUse safe_views(const Algorithm& algorithm, Shape shape, const Params& params, bool copy_views) {
  constexpr Rank most = 64;
  if (shape.size > most) return ViewUse::cautious;
  std::vector<Plan> plans;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    plans.push_back(make_plan(algorithm.generate(shape, params), shape.in_place,
                              {.views = ViewUse::full, .copy_views = copy_views}));
  }
  return completes(plans) ? ViewUse::full : ViewUse::cautious;
}

Lowering lowering_for(const Transport& transport, const Algorithm& algorithm, const Shape& shape,
                      const Params& params, const Call& call, std::uint64_t width) {
  const Capabilities can = transport.capabilities();
  if (!can.views) return {};
  // Messages up to the eager size travel by value whatever memory they come from.
  const std::uint64_t bytes = width * size_of(call.type);
  const bool by_value = !parted(call.collective) && bytes <= can.eager_bytes;
  const auto is_private = [&](std::span<const std::byte> data) {
    return !data.empty() && !transport.shares(data);
  };
  const bool private_input = is_private(call.input), private_output = is_private(call.output);
  // Peers fetch large messages from private memory themselves; staging would be a second copy.
  const bool staged = !by_value && (can.single_copy_bytes == 0 || bytes < can.single_copy_bytes);
  constexpr std::uint64_t worth_a_step = 64 * 1024;
  const bool copy_views = bytes >= worth_a_step && !private_input && !private_output;
  return {.views = safe_views(algorithm, shape, params, copy_views),
          .private_input = staged && private_input,
          .private_output = staged && private_output,
          .copy_views = copy_views};
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
    for (Wave& wave : waves_) wave.advance();
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
  }

  void finish(Wave& wave, std::size_t slot) {
    wave.release();
    ++finished_;
    if (call_.op != ReduceOp::avg || !reduces(call_.collective)) return;
    const std::uint64_t all = output_bytes(call_, transport_.size(), transport_.rank());
    const std::uint64_t window = window_of_[slot];
    std::uint64_t elements = window + 1 == wave_count_ ? tail_width_ : width_;
    elements = std::min(elements, all >> binding_.element_shift);
    scale(call_.output.data() + ((window * width_) << binding_.element_shift), elements, call_.type,
          transport_.size());
  }

  Transport& transport_;
  const Call call_;
  const std::uint64_t width_;
  std::uint64_t tail_width_ = 0;
  const Plan plan_;
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
  const std::uint64_t width = wave_width(transport, algorithm, shape, params, call, limits);
  Plan plan = make_plan(algorithm.generate(shape, params), call.in_place,
                        lowering_for(transport, algorithm, shape, params, call, width));
  return std::make_unique<ScheduledOperation>(transport, std::move(plan), call, limits, width);
}

}  // namespace commtune
