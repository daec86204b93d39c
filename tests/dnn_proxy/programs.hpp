#pragma once
#include "dnn_proxy/workload.hpp"
#include "support.hpp"

namespace commtune::test {

/// Writes a program operation by operation.
class ProgramText {
 public:
  ProgramText& begin(std::uint64_t step) { return mark(Mark::step_begin, step, 0); }
  ProgramText& end(std::uint64_t step, std::int64_t recorded_ns = 0) {
    return mark(Mark::step_end, step, recorded_ns);
  }
  ProgramText& compute(std::int64_t busy, std::int64_t gap) {
    WorkloadOp op;
    op.duration_ns = busy;
    op.gap_ns = gap;
    ops_.push_back(op);
    return *this;
  }
  ProgramText& run(CommKind kind, std::uint64_t count, DataType dtype = DataType::float32,
                   Rank root = 0) {
    WorkloadOp op;
    op.op = WorkloadOpKind::collective;
    op.kind = kind;
    op.count = count;
    op.dtype = dtype;
    op.root = root;
    ops_.push_back(op);
    return *this;
  }
  ProgramText& start(CommKind kind, std::uint64_t count, std::uint64_t id) {
    run(kind, count);
    ops_.back().async_id = id;
    return *this;
  }
  ProgramText& wait(std::uint64_t id) {
    WorkloadOp op;
    op.op = WorkloadOpKind::wait;
    op.async_id = id;
    ops_.push_back(op);
    return *this;
  }

  /// One program of rank 0 in a world of `world`.
  Workload workload(Rank world) const {
    Workload w;
    w.format = "test";
    w.source = "test";
    w.world = world;
    w.ranks = {0};
    w.groups = {{"world", {}}};
    for (Rank rank = 0; rank < world; ++rank) w.groups[0].ranks.push_back(rank);
    w.programs = {ops_};
    return w;
  }

 private:
  ProgramText& mark(Mark mark, std::uint64_t step, std::int64_t recorded_ns) {
    WorkloadOp op;
    op.op = WorkloadOpKind::mark;
    op.mark = mark;
    op.step = step;
    op.recorded_ns = recorded_ns;
    ops_.push_back(op);
    return *this;
  }
  std::vector<WorkloadOp> ops_;
};

}  // namespace commtune::test
