#include "dnn_proxy/workload.hpp"

#include <array>
#include <set>

#include "core/error.hpp"

namespace commtune {
namespace {

constexpr std::array comm_kinds = {
    CommKind::allreduce, CommKind::broadcast,  CommKind::allgather, CommKind::reduce_scatter,
    CommKind::barrier,   CommKind::all_to_all, CommKind::reduce,    CommKind::gather,
    CommKind::scatter,   CommKind::send,       CommKind::recv};
constexpr std::array marks = {Mark::step_begin, Mark::step_end, Mark::forward, Mark::backward,
                              Mark::optimizer};
constexpr std::array op_kinds = {WorkloadOpKind::compute, WorkloadOpKind::collective,
                                 WorkloadOpKind::p2p, WorkloadOpKind::wait, WorkloadOpKind::mark};

template <class Values>
auto parse_name(const Values& values, std::string_view text, std::string_view what) {
  for (const auto value : values)
    if (name(value) == text) return value;
  fail(Errc::usage, "{}: unknown name \"{}\", valid are {}", what, text, names_of(values));
}

class ProgramCheck {
 public:
  ProgramCheck(const Workload& workload, std::size_t program, std::string_view where)
      : workload_(workload),
        place_(fmt::format("{}: rank {}", where, workload.ranks[program])),
        ops_(workload.programs[program]) {}

  void run() {
    for (at_ = 0; at_ < ops_.size(); ++at_) check(ops_[at_]);
    require(in_flight_.empty(), "{}: async operation {} is never waited for", place_,
            in_flight_.empty() ? 0 : *in_flight_.begin());
    require(!in_step_, "{}: the last step has no step_end", place_);
  }

 private:
  void check(const WorkloadOp& op) {
    switch (op.op) {
      case WorkloadOpKind::compute:
        require(op.duration_ns >= 0 && op.gap_ns >= 0, "{}, operation {}: negative duration",
                place_, at_);
        return;
      case WorkloadOpKind::collective:
      case WorkloadOpKind::p2p:
        check_transfer(op);
        return;
      case WorkloadOpKind::wait:
        require(op.async_id.has_value() && in_flight_.erase(*op.async_id) == 1,
                "{}, operation {}: waits for {}, which is not in flight", place_, at_,
                op.async_id.value_or(0));
        return;
      case WorkloadOpKind::mark:
        check_mark(op);
        return;
    }
  }

  void check_transfer(const WorkloadOp& op) {
    require(point_to_point(op.kind) == (op.op == WorkloadOpKind::p2p),
            "{}, operation {}: {} is not a {}", place_, at_, name(op.kind), name(op.op));
    require(op.group < workload_.groups.size(), "{}, operation {}: group {} is not in the header",
            place_, at_, op.group);
    const auto size = workload_.groups[op.group].ranks.size();
    require(op.root >= 0 && static_cast<std::size_t>(op.root) < size,
            "{}, operation {}: rank {} is outside its group of {}", place_, at_, op.root, size);
    require(rooted(op.kind) || point_to_point(op.kind) || op.root == 0,
            "{}, operation {}: root {} of {}, which has no root", place_, at_, op.root,
            name(op.kind));
    require(op.count <= max_elements, "{}, operation {}: {} elements are more than {}", place_, at_,
            op.count, max_elements);
    check_splits(op, op.send_splits, size, "send_splits");
    check_splits(op, op.recv_splits, size, "recv_splits");
    require(op.kind != CommKind::barrier || op.count == 0, "{}, operation {}: a barrier of {}",
            place_, at_, op.count);
    if (op.async_id) {
      require(in_flight_.insert(*op.async_id).second,
              "{}, operation {}: async operation {} is already in flight", place_, at_,
              *op.async_id);
    }
  }

  /// What a rank receives may be more or less than it sends: only the sent parts have a known sum.
  void check_splits(const WorkloadOp& op, const std::vector<std::uint64_t>& splits,
                    std::size_t group_size, std::string_view key) const {
    if (splits.empty()) return;
    const std::string where = fmt::format("{}, operation {}: {}", place_, at_, key);
    require(op.kind == CommKind::all_to_all, "{} of {}: only all_to_all has splits", where,
            name(op.kind));
    require(splits.size() == group_size, "{} has {} entries in a group of {} ranks", where,
            splits.size(), group_size);
    const std::uint64_t sum = checked_sum(splits, where);
    require(&splits != &op.send_splits || sum == op.count, "{} sum to {}, the operation has {}",
            where, sum, op.count);
  }

  void check_mark(const WorkloadOp& op) {
    if (op.mark == Mark::step_begin) {
      require(!in_step_, "{}, operation {}: step {} begins inside a step", place_, at_, op.step);
      in_step_ = true;
    } else if (op.mark == Mark::step_end) {
      require(in_step_, "{}, operation {}: step {} ends but none began", place_, at_, op.step);
      in_step_ = false;
    }
  }

  const Workload& workload_;
  std::string place_;
  const std::vector<WorkloadOp>& ops_;
  std::size_t at_ = 0;
  std::set<std::uint64_t> in_flight_;
  bool in_step_ = false;
};

std::vector<WorkloadOp> select_program(const std::vector<WorkloadOp>& program, std::uint64_t skip,
                                       std::uint64_t steps) {
  std::vector<WorkloadOp> selected;
  std::uint64_t finished = 0;
  for (const WorkloadOp& op : program) {
    if (finished >= skip + steps) break;
    if (finished >= skip) selected.push_back(op);
    if (op.op == WorkloadOpKind::mark && op.mark == Mark::step_end) ++finished;
  }
  return selected;
}

}  // namespace

std::span<const CommKind> all_comm_kinds() noexcept { return comm_kinds; }

std::string_view name(CommKind kind) noexcept {
  switch (kind) {
    case CommKind::allreduce:
      return "allreduce";
    case CommKind::broadcast:
      return "broadcast";
    case CommKind::allgather:
      return "allgather";
    case CommKind::reduce_scatter:
      return "reduce_scatter";
    case CommKind::barrier:
      return "barrier";
    case CommKind::all_to_all:
      return "all_to_all";
    case CommKind::reduce:
      return "reduce";
    case CommKind::gather:
      return "gather";
    case CommKind::scatter:
      return "scatter";
    case CommKind::send:
      return "send";
    case CommKind::recv:
      return "recv";
  }
  return "?";
}

std::string_view name(Mark mark) noexcept {
  switch (mark) {
    case Mark::step_begin:
      return "step_begin";
    case Mark::step_end:
      return "step_end";
    case Mark::forward:
      return "forward";
    case Mark::backward:
      return "backward";
    case Mark::optimizer:
      return "optimizer";
  }
  return "?";
}

std::string_view name(WorkloadOpKind kind) noexcept {
  switch (kind) {
    case WorkloadOpKind::compute:
      return "compute";
    case WorkloadOpKind::collective:
      return "collective";
    case WorkloadOpKind::p2p:
      return "p2p";
    case WorkloadOpKind::wait:
      return "wait";
    case WorkloadOpKind::mark:
      return "mark";
  }
  return "?";
}

CommKind parse_comm_kind(std::string_view text, std::string_view what) {
  return parse_name(comm_kinds, text, what);
}
Mark parse_mark(std::string_view text, std::string_view what) {
  return parse_name(marks, text, what);
}
WorkloadOpKind parse_workload_op_kind(std::string_view text, std::string_view what) {
  return parse_name(op_kinds, text, what);
}

std::optional<Collective> as_collective(CommKind kind) noexcept {
  for (const Collective collective : all_collectives())
    if (name(collective) == name(kind)) return collective;
  return std::nullopt;
}

std::uint64_t bytes_of(const WorkloadOp& op) noexcept { return op.count * size_of(op.dtype); }

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), "{}: {} x {} does not fit in 64 bits", what, a,
          b);
  return product;
}

std::uint64_t checked_sum(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), "{}: {} + {} does not fit in 64 bits", what, a, b);
  return sum;
}

std::uint64_t checked_sum(const std::vector<std::uint64_t>& values, std::string_view what) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum = checked_sum(sum, value, what);
  return sum;
}

bool rooted(CommKind kind) noexcept {
  return kind == CommKind::broadcast || kind == CommKind::reduce || kind == CommKind::gather ||
         kind == CommKind::scatter;
}

std::uint64_t count_steps(const std::vector<WorkloadOp>& program) noexcept {
  std::uint64_t steps = 0;
  for (const WorkloadOp& op : program)
    if (op.op == WorkloadOpKind::mark && op.mark == Mark::step_begin) ++steps;
  return steps;
}

void validate(const Workload& workload, std::string_view where) {
  require(!workload.ranks.empty() && workload.ranks.size() == workload.programs.size(),
          "{}: {} ranks but {} programs", where, workload.ranks.size(), workload.programs.size());
  std::set<Rank> seen;
  for (const Rank rank : workload.ranks) {
    require(rank >= 0 && rank < workload.world, "{}: rank {} is outside the world of {}", where,
            rank, workload.world);
    require(seen.insert(rank).second, "{}: rank {} appears twice", where, rank);
  }
  for (const Group& group : workload.groups) {
    require(!group.name.empty(), "{}: a group without a name", where);
    require(!group.ranks.empty(), "{}: group \"{}\" has no ranks", where, group.name);
    for (const Rank rank : group.ranks)
      require(rank >= 0 && rank < workload.world,
              "{}: group \"{}\" holds rank {}, outside the world of {}", where, group.name, rank,
              workload.world);
  }
  for (std::size_t i = 0; i < workload.programs.size(); ++i) ProgramCheck(workload, i, where).run();
}

Workload select_steps(const Workload& workload, std::uint64_t skip, std::uint64_t steps) {
  Workload selected = workload;
  for (std::size_t i = 0; i < selected.programs.size(); ++i) {
    const std::uint64_t have = count_steps(workload.programs[i]);
    require(skip <= have && steps <= have - skip,
            "{}: rank {} has {} steps, asked for {} after skipping {}", workload.source,
            workload.ranks[i], have, steps, skip);
    selected.programs[i] = select_program(workload.programs[i], skip, steps);
  }
  return selected;
}

std::string with_thousands(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string describe(const WorkloadOp& op) {
  switch (op.op) {
    case WorkloadOpKind::compute:
      if (op.flops > 0) return fmt::format("compute {} flop", with_thousands(op.flops));
      return fmt::format("compute {:.3f} ms", static_cast<double>(op.duration_ns) / 1e6);
    case WorkloadOpKind::collective:
    case WorkloadOpKind::p2p:
      if (op.kind == CommKind::barrier) return "barrier";
      return fmt::format("{} {} {}", name(op.kind), with_thousands(op.count), name(op.dtype));
    case WorkloadOpKind::wait:
      return "wait";
    case WorkloadOpKind::mark:
      return std::string(name(op.mark));
  }
  return {};
}

}  // namespace commtune
