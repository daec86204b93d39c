#include "dnn_proxy/importers/kineto_program.hpp"

#include <algorithm>
#include <deque>

#include "core/error.hpp"

namespace commtune {
namespace {

/// Ends of device work by launch time, of one thread or of all.
class LaunchOrder {
 public:
  void add(std::int64_t launched, std::int64_t end) { entries_.push_back({launched, end}); }
  void finish() {
    std::sort(entries_.begin(), entries_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    latest_.reserve(entries_.size());
    for (const Interval& entry : entries_)
      latest_.push_back(latest_.empty() ? entry.end : std::max(latest_.back(), entry.end));
  }
  /// End of the last work launched before `at`; `fallback` when there is none.
  std::int64_t last_end(std::int64_t at, std::int64_t fallback) const {
    const std::size_t n = launched_before(at);
    return n == 0 ? fallback : entries_[n - 1].end;
  }
  /// When all work launched before `at` is finished.
  std::int64_t all_ended(std::int64_t at, std::int64_t fallback) const {
    const std::size_t n = launched_before(at);
    return n == 0 ? fallback : latest_[n - 1];
  }

 private:
  std::size_t launched_before(std::int64_t at) const {
    return static_cast<std::size_t>(
        std::lower_bound(entries_.begin(), entries_.end(), at,
                         [](const Interval& i, std::int64_t time) { return i.begin < time; }) -
        entries_.begin());
  }
  std::vector<Interval> entries_;  ///< begin: launch, end: end on the device
  std::vector<std::int64_t> latest_;
};

/// When the work before a point of the host's program is done, and what filled the time between.
class ComputeModel {
 public:
  explicit ComputeModel(const KinetoEvents& events)
      : device_(!events.device.empty()),
        compute_(compute_intervals(events)),
        covered_(covered_intervals(events)) {
    if (device_) {
      for (const DeviceEvent& event : events.device) {
        const auto launch = events.launches.find(event.correlation);
        if (event.communication || launch == events.launches.end()) continue;
        all_.add(launch->second.begin_ns, event.end_ns);
        threads_[launch->second.thread].add(launch->second.begin_ns, event.end_ns);
      }
      all_.finish();
      for (auto& [thread, order] : threads_) order.finish();
    }
    now_ = device_ ? covered_.begin() : events.first_ns;
    end_ = device_ ? compute_.end() : events.last_ns;
  }

  std::string source() const {
    if (compute_.empty()) return "none";
    return device_ ? "gpu_busy" : "cpu_busy";
  }
  /// Compute up to an operation that `thread` issues at `at`.
  WorkloadOp until_operation(ThreadId thread, std::int64_t at) {
    if (!device_) return advance(at);
    const auto order = threads_.find(thread);
    return advance(order == threads_.end() ? now_ : order->second.last_end(at, now_));
  }
  /// Compute up to the end of everything launched before `at`.
  WorkloadOp until_mark(std::int64_t at) {
    return advance(device_ ? all_.all_ended(at, now_) : at);
  }
  WorkloadOp rest() { return advance(end_); }

 private:
  static std::vector<Interval> compute_intervals(const KinetoEvents& events) {
    if (events.device.empty()) return events.cpu;
    std::vector<Interval> intervals;
    for (const DeviceEvent& event : events.device)
      if (!event.communication) intervals.push_back({event.begin_ns, event.end_ns});
    return intervals;
  }
  static std::vector<Interval> covered_intervals(const KinetoEvents& events) {
    std::vector<Interval> intervals = compute_intervals(events);
    if (events.device.empty()) {
      for (const CommRecord& record : events.records)
        intervals.push_back({record.begin_ns, record.begin_ns + record.duration_ns});
    } else {
      for (const DeviceEvent& event : events.device)
        if (event.communication) intervals.push_back({event.begin_ns, event.end_ns});
    }
    return intervals;
  }

  WorkloadOp advance(std::int64_t to) {
    WorkloadOp op;
    op.op = WorkloadOpKind::compute;
    if (to <= now_) return op;
    op.duration_ns = compute_.busy(now_, to);
    op.gap_ns = to - now_ - covered_.busy(now_, to);
    now_ = to;
    return op;
  }

  bool device_;
  BusyTimeline compute_, covered_;
  LaunchOrder all_;
  std::map<ThreadId, LaunchOrder> threads_;
  std::int64_t now_ = 0, end_ = 0;
};

/// A point of the host's program.
struct Point {
  std::int64_t at = 0;
  int order = 0;  ///< among points of equal time
  const CommRecord* record = nullptr;
  WorkloadOp mark;
};

std::vector<Point> collect_points(const KinetoEvents& events) {
  std::vector<Point> points;
  const auto add_mark = [&points](Mark mark, std::int64_t at, int order, const StepSpan* step) {
    Point point{at, order, nullptr, {}};
    point.mark.op = WorkloadOpKind::mark;
    point.mark.mark = mark;
    if (step != nullptr) point.mark.step = step->number;
    if (step != nullptr && mark == Mark::step_end)
      point.mark.recorded_ns = step->end_ns - step->begin_ns;
    points.push_back(std::move(point));
  };
  for (const StepSpan& step : events.steps) {
    add_mark(Mark::step_begin, step.begin_ns, 1, &step);
    // A step of no length still ends after it began.
    add_mark(Mark::step_end, step.end_ns, step.end_ns > step.begin_ns ? 0 : 4, &step);
  }
  const bool ddp = std::any_of(events.phases.begin(), events.phases.end(),
                               [](const PhaseSpan& phase) { return phase.ddp_forward; });
  for (const PhaseSpan& phase : events.phases)
    if (phase.mark != Mark::forward || phase.ddp_forward == ddp)
      add_mark(phase.mark, phase.begin_ns, 2, nullptr);
  for (const CommRecord& record : events.records)
    points.push_back({record.begin_ns, 3, &record, {}});
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  });
  return points;
}

void refuse_overlap(const KinetoEvents& events) {
  constexpr std::int64_t tolerance_ns = 2000;  // two roundings to microseconds
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const DeviceEvent*>> streams;
  for (const DeviceEvent& event : events.device)
    if (event.communication) streams[event.stream].push_back(&event);
  for (auto& [stream, list] : streams) {
    std::sort(list.begin(), list.end(),
              [](const DeviceEvent* a, const DeviceEvent* b) { return a->begin_ns < b->begin_ns; });
    for (std::size_t i = 1; i < list.size(); ++i)
      require(list[i]->begin_ns >= list[i - 1]->end_ns - tolerance_ns,
              "{}: communication kernels of events {} and {} overlap by {} ns on one stream",
              events.path, list[i - 1]->event, list[i]->event,
              list[i - 1]->end_ns - list[i]->begin_ns);
  }
}

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const KinetoEvents& events) : events_(events), model_(events) {
    program_.compute_from = model_.source();
  }

  KinetoProgram build() {
    for (const Point& point : collect_points(events_)) {
      if (point.record != nullptr)
        add_record(*point.record);
      else
        add_mark(point);
    }
    wait_for_all();
    add_compute(model_.rest());
    return std::move(program_);
  }

 private:
  void add_compute(const WorkloadOp& op) {
    if (op.duration_ns != 0 || op.gap_ns != 0) program_.operations.push_back(op);
  }

  void add_mark(const Point& point) {
    add_compute(model_.until_mark(point.at));
    if (point.mark.mark == Mark::optimizer || point.mark.mark == Mark::step_end) wait_for_all();
    if (point.mark.mark == Mark::step_begin) {
      in_step_ = true;
      step_ = point.mark.step;
    }
    WorkloadOp mark = point.mark;
    mark.step = step_;
    if (mark.mark == Mark::step_end || mark.mark == Mark::step_begin || in_step_ ||
        events_.steps.empty())
      program_.operations.push_back(mark);
    if (mark.mark == Mark::step_end) in_step_ = false;
  }

  void add_record(const CommRecord& record) {
    if (record.what.record == RecordKind::stream_wait) {
      if (waitable_.empty()) {
        ++program_.idle_waits;
        return;
      }
      add_compute(model_.until_operation(record.thread, record.begin_ns));
      wait_for(waitable_.front());
      return;
    }
    add_compute(model_.until_operation(record.thread, record.begin_ns));
    WorkloadOp op = to_operation(record);
    const bool flagged = record.async.has_value();
    const bool bucket = !flagged && is_bucket(record);
    if (!flagged) ++(bucket ? program_.assumed_async : program_.assumed_sync);
    if (bucket || record.async.value_or(false)) {
      op.async_id = next_id_++;
      outstanding_.push_back(*op.async_id);
      if (flagged) waitable_.push_back(*op.async_id);
    }
    program_.operations.push_back(std::move(op));
  }

  WorkloadOp to_operation(const CommRecord& record) const {
    WorkloadOp op;
    op.kind = record.what.kind;
    op.op = point_to_point(op.kind) ? WorkloadOpKind::p2p : WorkloadOpKind::collective;
    op.dtype = record.dtype;
    op.group = record.group;
    const Group& group = events_.groups[record.group];
    op.count = record.in_count;
    if (op.kind == CommKind::reduce_scatter && record.out_count == 0)
      op.count = record.in_count / group.ranks.size();
    else if (op.kind == CommKind::reduce_scatter || op.kind == CommKind::scatter)
      op.count = record.out_count;
    else if (point_to_point(op.kind))
      op.count = std::max(record.in_count, record.out_count);
    if (op.kind == CommKind::all_to_all) {
      op.send_splits = record.send_splits;
      op.recv_splits = record.recv_splits;
    }
    if (record.peer) {
      const auto at = std::find(group.ranks.begin(), group.ranks.end(), *record.peer);
      require(at != group.ranks.end(), "{}: event {}: peer {} is not in group \"{}\"", events_.path,
              record.event, *record.peer, group.name);
      op.root = static_cast<Rank>(at - group.ranks.begin());
    }
    return op;
  }

  /// A gradient bucket of DistributedDataParallel: an allreduce after the forward pass and before
  /// the optimizer of its step. Its work is waited for at the end of the backward pass.
  bool is_bucket(const CommRecord& record) const {
    if (record.what.kind != CommKind::allreduce) return false;
    const StepSpan* step = nullptr;
    for (const StepSpan& span : events_.steps)
      if (span.begin_ns <= record.begin_ns && record.begin_ns < span.end_ns) step = &span;
    if (step == nullptr && !events_.steps.empty()) return false;
    bool after_forward = false;
    for (const PhaseSpan& phase : events_.phases) {
      if (step != nullptr && (phase.begin_ns < step->begin_ns || phase.begin_ns >= step->end_ns))
        continue;
      if (phase.begin_ns > record.begin_ns) break;
      if (phase.ddp_forward) after_forward = phase.end_ns <= record.begin_ns;
      if (phase.mark == Mark::optimizer) after_forward = false;
    }
    return after_forward;
  }

  void wait_for(std::uint64_t id) {
    WorkloadOp op;
    op.op = WorkloadOpKind::wait;
    op.async_id = id;
    program_.operations.push_back(op);
    const auto drop = [id](std::deque<std::uint64_t>& queue) {
      queue.erase(std::remove(queue.begin(), queue.end(), id), queue.end());
    };
    drop(outstanding_);
    drop(waitable_);
  }
  void wait_for_all() {
    while (!outstanding_.empty()) wait_for(outstanding_.front());
  }

  const KinetoEvents& events_;
  ComputeModel model_;
  KinetoProgram program_;
  std::deque<std::uint64_t> outstanding_, waitable_;
  std::uint64_t next_id_ = 0, step_ = 0;
  bool in_step_ = false;
};

}  // namespace

KinetoProgram build_program(const KinetoEvents& events) {
  refuse_overlap(events);
  return ProgramBuilder(events).build();
}

}  // namespace commtune
