#include "dnn_proxy/replay_engine.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/runtime/reference.hpp"
#include "core/backoff.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

constexpr int gemm_edge = 128;

/// A call as frameworks make it: in place where input and output have one size or one is a part of
/// the other, except reduce_scatter, whose in-place result libraries put in different places.
Call call_of(const CallSpec& spec) {
  Call call;
  call.collective = spec.collective;
  call.count = spec.count;
  call.type = spec.dtype;
  call.root = spec.root;
  call.in_place = spec.collective == Collective::allreduce ||
                  spec.collective == Collective::broadcast ||
                  spec.collective == Collective::allgather;
  return call;
}

}  // namespace

ReplayEngine::ReplayEngine(Job& job, const ReplayPlan& plan, const std::vector<CallChoice>& choices,
                           Library* library)
    : job_(job),
      plan_(plan),
      choices_(choices),
      gemm_(gemm_edge),
      instances_(plan.calls.size() * plan.slots),
      flights_(plan.slots),
      checks_(plan.calls.size()) {
  for (std::size_t call = 0; call < plan.calls.size(); ++call) {
    names_.push_back(fmt::format("{}/{}", name(plan.calls[call].collective), choices[call].used));
  }
  prepare_all(library);
  calibrate();
}

ReplayEngine::Instance& ReplayEngine::instance(const Action& action) {
  return instances_[action.call * plan_.slots + action.slot];
}

void ReplayEngine::prepare_all(Library* library) {
  std::vector<Action> used;
  const auto collect = [&used](const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (action.kind != Action::Kind::run && action.kind != Action::Kind::start) continue;
      const Action key{Action::Kind::run, 0, action.call, action.slot};
      if (std::find(used.begin(), used.end(), key) == used.end()) used.push_back(key);
    }
  };
  for (const StepPlan& step : plan_.steps) {
    collect(step.before);
    collect(step.actions);
  }
  collect(plan_.after);
  const Rank size = job_.size(), rank = job_.rank();
  std::vector<std::size_t> bytes(plan_.slots, 0);
  for (const Action& key : used)
    bytes[key.slot] =
        std::max(bytes[key.slot], memory_bytes(call_of(plan_.calls[key.call]), size, rank));
  for (const std::size_t slot_bytes : bytes) {
    memory_.emplace_back(job_.transport, std::max<std::size_t>(slot_bytes, 64));
    buffer_bytes_ += slot_bytes;
  }
  for (const Action& key : used) {
    Instance& made = instance(key);
    made.call = call_of(plan_.calls[key.call]);
    place(made.call, memory_[key.slot].bytes(), size, rank);
    check_buffers(made.call, size, rank);
    const CallChoice& choice = choices_[key.call];
    Limits limits;
    limits.waves_in_flight = lanes_per_slot;
    limits.first_lane = key.slot * lanes_per_slot;
    if (choice.algorithm != nullptr) {
      made.operation = prepare(job_.transport, *choice.algorithm, choice.params, made.call, limits);
      continue;
    }
    const std::string why = library->unsupported(made.call);
    if (!why.empty())
      fail(Errc::unavailable, "--algorithm native: {} cannot do {}: {}", library->name(),
           describe(plan_.calls[key.call]), why);
    made.operation = library->prepare(made.call);
  }
}

void ReplayEngine::calibrate() {
  job_.bootstrap.barrier();
  piece_ns_ = std::max(gemm_.calibrate(), 1.0);
}

StepTimes ReplayEngine::run(const StepPlan& step, std::vector<CallSample>& samples,
                            std::vector<TimelineEvent>* events) {
  checking_ = false;
  samples_ = nullptr;
  events_ = events;
  perform(step.before, step.number);
  samples_ = &samples;
  times_ = {};
  const std::int64_t begin = job_.transport.now_ns();
  perform(step.actions, step.number);
  const std::int64_t end = job_.transport.now_ns();
  times_.step = end - begin;
  bar(fmt::format("step {}", step.number), "step", 0, begin, end, nullptr);
  samples_ = nullptr;
  events_ = nullptr;
  return times_;
}

void ReplayEngine::run_after() {
  checking_ = false;
  perform(plan_.after, 0);
}

void ReplayEngine::check(const StepPlan& step, std::uint64_t seed) {
  checking_ = true;
  seed_ = seed;
  perform(step.before, step.number);
  perform(step.actions, step.number);
  checking_ = false;
}

void ReplayEngine::perform(const std::vector<Action>& actions, std::uint64_t step) {
  step_ = step;
  for (const Action& action : actions) {
    if (action.kind == Action::Kind::compute) {
      job_.monitor.describe("compute", 0);
    } else {
      job_.monitor.describe(names_[action.call], bytes_per_rank(plan_.calls[action.call]));
    }
    job_.monitor.beat(step);
    ++times_.actions;
    switch (action.kind) {
      case Action::Kind::compute:
        if (!checking_) compute(action);
        break;
      case Action::Kind::run:
        run_now(action);
        break;
      case Action::Kind::start:
        start(action);
        break;
      case Action::Kind::wait:
        wait(action);
        break;
    }
  }
}

void ReplayEngine::compute(const Action& action) {
  // The part of a piece that did not fit is owed to the next compute.
  owed_ns_ += static_cast<double>(action.compute_ns) +
              static_cast<double>(action.compute_flops) * piece_ns_ /
                  static_cast<double>(gemm_.flops_per_piece());
  const double pieces = std::floor(owed_ns_ / piece_ns_ + 0.5);
  owed_ns_ -= pieces * piece_ns_;
  const std::int64_t begin = job_.transport.now_ns();
  std::int64_t at = begin;
  for (auto left = static_cast<std::int64_t>(pieces); left > 0; --left) {
    if (job_.transport.capabilities().simulated_time) {
      job_.transport.elapse(piece_ns_);
    } else {
      gemm_.run_piece();
    }
    const std::int64_t computed = job_.transport.now_ns();
    times_.compute += computed - at;
    at = computed;
    job_.monitor.beat(step_);
    if (in_flight_ == 0) continue;
    progress_all();
    at = job_.transport.now_ns();
    times_.progress += at - computed;
  }
  bar("compute", "compute", 0, begin, at, nullptr);
}

void ReplayEngine::start(const Action& action) {
  if (checking_) fill(action);
  Flight& flight = flights_[action.slot];
  flight = {};
  flight.active = true;
  flight.call = action.call;
  if (samples_ != nullptr) {
    flight.sample = samples_->size();
    samples_->push_back({action.call, 0});
  }
  flight.started = job_.transport.now_ns();
  instance(action).operation->start();
  times_.issue += job_.transport.now_ns() - flight.started;
  ++in_flight_;
}

bool ReplayEngine::progress_all() {
  bool finished = false;
  for (std::uint32_t slot = 0; slot < flights_.size(); ++slot) {
    Flight& flight = flights_[slot];
    if (!flight.active || flight.done) continue;
    if (!instances_[flight.call * plan_.slots + slot].operation->progress()) continue;
    flight.finished = job_.transport.now_ns();
    flight.done = finished = true;
    --in_flight_;
  }
  return finished;
}

void ReplayEngine::wait(const Action& action) {
  Flight& flight = flights_[action.slot];
  const std::int64_t begin = job_.transport.now_ns();
  Backoff backoff(job_.transport.crowded());
  while (!flight.done)
    if (!progress_all()) backoff.pause();
  const std::int64_t end = job_.transport.now_ns();
  times_.exposed += end - begin;
  if (samples_ != nullptr) (*samples_)[flight.sample].ns = flight.finished - flight.started;
  if (events_ != nullptr) {
    const std::string label = describe(plan_.calls[action.call]);
    bar("wait for " + label, "wait", 0, begin, end, nullptr);
    bar(label, "communication", 1 + action.slot, flight.started, flight.finished, &action);
  }
  finish(action);
}

void ReplayEngine::run_now(const Action& action) {
  if (in_flight_ > 0) {
    // Others in flight must move on meanwhile.
    start(action);
    wait(action);
    return;
  }
  if (checking_) fill(action);
  const std::int64_t begin = job_.transport.now_ns();
  instance(action).operation->run();
  const std::int64_t end = job_.transport.now_ns();
  times_.exposed += end - begin;
  if (samples_ != nullptr) samples_->push_back({action.call, end - begin});
  if (events_ != nullptr) {
    const std::string label = describe(plan_.calls[action.call]);
    bar("wait for " + label, "wait", 0, begin, end, nullptr);
    bar(label, "communication", 1 + action.slot, begin, end, &action);
  }
  finish(action);
}

void ReplayEngine::finish(const Action& action) {
  flights_[action.slot].active = false;
  if (checking_) verify(action);
}

void ReplayEngine::fill(const Action& action) {
  const Call& call = instance(action).call;
  if (call.collective == Collective::barrier) return;
  std::span<std::byte> memory = memory_[action.slot].bytes();
  const auto offset = static_cast<std::size_t>(call.input.data() - memory.data());
  fill_input(call, job_.rank(), job_.size(), seed_, memory.subspan(offset, call.input.size()),
             call.output);
}

void ReplayEngine::verify(const Action& action) {
  const Call& call = instance(action).call;
  if (call.collective == Collective::barrier) return;
  const CheckResult result = check_output(call, job_.rank(), job_.size(), seed_);
  CallCheck& check = checks_[action.call];
  check.checked += result.checked;
  if (result.wrong > 0 && check.wrong == 0)
    check.first = fmt::format("rank {}, element {}: got {}, expected {}", job_.rank(),
                              result.first_index, result.got, result.expected);
  check.wrong += result.wrong;
}

void ReplayEngine::bar(std::string name, const char* category, std::uint32_t thread,
                       std::int64_t begin, std::int64_t end, const Action* action) {
  if (events_ == nullptr) return;
  TimelineEvent event{std::move(name), category, thread, begin, end, 0, {}, step_};
  if (action != nullptr) {
    event.bytes = bytes_per_rank(plan_.calls[action->call]);
    event.algorithm = choices_[action->call].used;
  }
  events_->push_back(std::move(event));
}

}  // namespace commtune
