#include "collectives/schedule/cost.hpp"

#include <algorithm>
#include <queue>
#include <vector>

#include "collectives/schedule/layout.hpp"
#include "collectives/schedule/matching.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// Sends leave in program order as their data and the sender's port allow, and take the receiver's
/// port in the order of their arrival. Events are handled in the order of time, so a port is never
/// reserved ahead of a message that could use it earlier.
class Simulation {
 public:
  Simulation(const std::vector<Schedule>& schedules, const Matching& matching, const Layout& layout,
             std::size_t element_bytes, const Network& network);
  Estimate run();

 private:
  enum class EventKind : std::uint8_t { ready, arrive };
  struct Event {
    double time;
    std::uint64_t order;  ///< of creation; makes ties repeatable
    std::uint32_t step;   ///< arrive: the recv
    EventKind kind;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  struct RankState {
    double processor_free = 0, send_port_free = 0, recv_port_free = 0;
  };
  /// One direction of one rank: steps are issued in program order.
  struct Queue {
    std::uint32_t next = 0, end = 0;
  };
  static constexpr double never = -1;

  void push(double time, std::uint32_t step, EventKind kind) {
    events_.push({time, created_++, step, kind});
  }
  double bytes(const Step& step) const {
    return static_cast<double>(layout_.elements(step.first, step.count) * element_bytes_);
  }
  double transfer(const Step& step) const {
    // Runs that travel together pay for one message.
    return (step.joined ? 0 : network_.alpha_us) + bytes(step) * network_.beta_us_per_byte;
  }
  void make_ready(double time, std::uint32_t step);
  void compute(double time, std::uint32_t step);
  void issue(double time, std::uint32_t step);
  void arrive(double time, std::uint32_t recv);
  void complete(double time, std::uint32_t step);

  const std::vector<Schedule>& schedules_;
  const Matching& matching_;
  const Layout& layout_;
  std::size_t element_bytes_;
  Network network_;
  std::vector<const Step*> steps_;
  std::vector<Rank> owner_;
  std::vector<std::uint16_t> waiting_;
  std::vector<bool> ready_, posted_;
  std::vector<double> ready_at_, landed_at_;
  std::vector<RankState> ranks_;
  std::vector<std::uint32_t> queued_;
  std::vector<Queue> queues_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t created_ = 0;
  std::size_t completed_ = 0;
  Estimate estimate_{0, 0, 0};
};

Simulation::Simulation(const std::vector<Schedule>& schedules, const Matching& matching,
                       const Layout& layout, std::size_t element_bytes, const Network& network)
    : schedules_(schedules),
      matching_(matching),
      layout_(layout),
      element_bytes_(element_bytes),
      network_(network),
      ranks_(schedules.size()) {
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const Schedule& program = schedules[r];
    for (const Step& step : program.steps) steps_.push_back(&step);
    owner_.insert(owner_.end(), program.steps.size(), static_cast<Rank>(r));
    waiting_.insert(waiting_.end(), program.in_degrees.begin(), program.in_degrees.end());
    for (const StepKind kind : {StepKind::recv, StepKind::send}) {
      const auto begin = static_cast<std::uint32_t>(queued_.size());
      for (std::uint32_t step = matching.begin[r]; step < matching.begin[r + 1]; ++step) {
        if (steps_[step]->kind == kind) queued_.push_back(step);
      }
      queues_.push_back({begin, static_cast<std::uint32_t>(queued_.size())});
    }
  }
  ready_.assign(steps_.size(), false);
  ready_at_.assign(steps_.size(), 0);
  posted_.assign(steps_.size(), false);
  landed_at_.assign(steps_.size(), never);
}

Estimate Simulation::run() {
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    if (waiting_[step] == 0) push(0, step, EventKind::ready);
  }
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    switch (event.kind) {
      case EventKind::ready:
        make_ready(event.time, event.step);
        break;
      case EventKind::arrive:
        arrive(event.time, event.step);
        break;
    }
  }
  require(completed_ == steps_.size(), "estimate: the schedule cannot finish; verify it first");
  return estimate_;
}

void Simulation::make_ready(double time, std::uint32_t step) {
  const StepKind kind = steps_[step]->kind;
  if (kind == StepKind::copy || kind == StepKind::reduce) {
    compute(time, step);
    return;
  }
  ready_[step] = true;
  Queue& line =
      queues_[2 * static_cast<std::size_t>(owner_[step]) + (kind == StepKind::send ? 1 : 0)];
  while (line.next < line.end && ready_[queued_[line.next]]) issue(time, queued_[line.next++]);
}

void Simulation::compute(double time, std::uint32_t step) {
  const Step& what = *steps_[step];
  double end = time;
  if (what.kind == StepKind::reduce) {
    RankState& rank = ranks_[static_cast<std::size_t>(owner_[step])];
    end = std::max(time, rank.processor_free) + bytes(what) * network_.gamma_us_per_byte;
    rank.processor_free = end;
  }
  complete(end, step);
}

void Simulation::issue(double time, std::uint32_t step) {
  const Step& what = *steps_[step];
  if (what.kind == StepKind::recv) {
    posted_[step] = true;
    if (landed_at_[step] != never) complete(std::max(time, landed_at_[step]), step);
    return;
  }
  RankState& rank = ranks_[static_cast<std::size_t>(owner_[step])];
  const double start = std::max(time, rank.send_port_free);
  rank.send_port_free = start + transfer(what);
  if (!what.joined) ++estimate_.messages;
  estimate_.bytes += layout_.elements(what.first, what.count) * element_bytes_;
  push(start, matching_.partner[step], EventKind::arrive);
  complete(rank.send_port_free, step);
}

void Simulation::arrive(double time, std::uint32_t recv) {
  RankState& rank = ranks_[static_cast<std::size_t>(owner_[recv])];
  const double landed = std::max(time, rank.recv_port_free) + transfer(*steps_[recv]);
  rank.recv_port_free = landed;
  landed_at_[recv] = landed;
  if (posted_[recv]) complete(landed, recv);
}

void Simulation::complete(double time, std::uint32_t step) {
  ++completed_;
  estimate_.microseconds = std::max(estimate_.microseconds, time);
  const auto rank = static_cast<std::size_t>(owner_[step]);
  const std::uint32_t begin = matching_.begin[rank];
  for (const StepId successor : schedules_[rank].successors_of(step - begin)) {
    const std::uint32_t next = begin + successor;
    ready_at_[next] = std::max(ready_at_[next], time);
    if (--waiting_[next] == 0) push(ready_at_[next], next, EventKind::ready);
  }
}

}  // namespace

Estimate estimate(const Algorithm& algorithm, Shape shape, const Params& params,
                  std::uint64_t count, std::size_t element_bytes, const Network& network) {
  const auto schedules = generate_all(algorithm, shape, params);
  Matching matching;
  if (const auto violation = match_messages(schedules, matching)) {
    fail(Errc::usage, "estimate: {}/{}: {}", name(algorithm.collective), algorithm.name,
         violation->detail);
  }
  const std::uint32_t blocks = schedules[0].space.blocks;
  const auto size = static_cast<std::uint32_t>(shape.size);
  const std::uint32_t parts = !parted(algorithm.collective)                  ? 1
                              : algorithm.collective == Collective::alltoall ? size * size
                                                                             : size;
  const Layout layout(blocks / parts, {.each = count}, 0, count);
  return Simulation(schedules, matching, layout, element_bytes, network).run();
}

}  // namespace commtune
