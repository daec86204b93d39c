#include "collectives/schedule/schedule.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace commtune {

BlockSpace block_space(Collective collective, const Shape& shape, std::uint32_t blocks) {
  const auto rank = static_cast<std::uint32_t>(shape.rank);
  const auto size = static_cast<std::uint32_t>(shape.size);
  const BlockSpace::Range all{0, blocks}, parts{0, blocks * size}, part{rank * blocks, blocks};
  switch (collective) {
    case Collective::allreduce:
      return {blocks, all, all};
    case Collective::broadcast:
      return {blocks, shape.rank == shape.root ? all : BlockSpace::Range{}, all};
    case Collective::allgather:
      return {parts.count, part, parts};
    case Collective::reduce_scatter:
      return {parts.count, parts, part};
    case Collective::barrier:
      break;
  }
  return {};
}

ScheduleBuilder::ScheduleBuilder(Collective collective, const Shape& shape, std::uint32_t blocks)
    : shape_(shape) {
  require(shape.size >= 1 && shape.rank >= 0 && shape.rank < shape.size,
          "schedule: rank {} of {} does not exist", shape.rank, shape.size);
  require(shape.root >= 0 && shape.root < shape.size,
          "schedule: root {} is not one of the {} ranks", shape.root, shape.size);
  require(blocks > 0 || collective == Collective::barrier, "schedule: {} needs at least one block",
          name(collective));
  schedule_.space = block_space(collective, shape, blocks);
  const BlockSpace& space = schedule_.space;
  if (shape.in_place) {
    output_.resize(std::max(space.input.count, space.output.count));
  } else {
    input_.resize(space.input.count);
    output_.resize(space.output.count);
  }
}

ScheduleBuilder::Cell& ScheduleBuilder::cell(BufferId buffer, std::uint32_t index) {
  if (buffer == BufferId::scratch) return scratch_[index];
  const BlockSpace& space = schedule_.space;
  if (shape_.in_place) {
    // One range contains the other, so the wider one numbers the shared storage.
    const auto& wide = space.input.count > space.output.count ? space.input : space.output;
    return output_[index - wide.first];
  }
  if (buffer == BufferId::input) return input_[index - space.input.first];
  return output_[index - space.output.first];
}

void ScheduleBuilder::check(Slice slice, bool write, const char* what) {
  require(slice.count > 0, "{}: a slice needs at least one block; use signal for an empty message",
          what);
  const BlockSpace& space = schedule_.space;
  if (slice.buffer == BufferId::scratch) {
    require(BlockSpace::Range{0, space.blocks}.holds(slice.first, slice.count),
            "{}: scratch[{}] cannot hold blocks {}+{}, the collective has {}", what, slice.slot,
            slice.first, slice.count, space.blocks);
    if (scratch_.size() <= slice.slot) scratch_.resize(slice.slot + std::size_t{1});
    return;
  }
  const bool input = slice.buffer == BufferId::input;
  const auto& range = input ? space.input : space.output;
  require(range.holds(slice.first, slice.count), "{}: rank {}'s {} holds blocks {}+{}, not {}+{}",
          what, shape_.rank, input ? "input" : "output", range.first, range.count, slice.first,
          slice.count);
  require(!write || !input || (shape_.in_place && space.output.holds(slice.first, slice.count)),
          "{}: writes blocks {}+{} of rank {}'s input, which belongs to the caller", what,
          slice.first, slice.count, shape_.rank);
}

void ScheduleBuilder::check_peer(Rank peer, const char* what) const {
  require(peer >= 0 && peer < shape_.size && peer != shape_.rank,
          "{}: rank {} of {} cannot talk to rank {}", what, shape_.rank, shape_.size, peer);
}

void ScheduleBuilder::touch(Slice slice, bool write) {
  const auto depend = [&](StepId step) {
    if (depends_.empty() || depends_.back() != step) depends_.push_back(step);
  };
  const auto visit = [&](Cell& cell) {
    if (write && !cell.readers.empty()) {
      for (const StepId reader : cell.readers) depend(reader);
    } else if (cell.writer >= 0) {
      depend(static_cast<StepId>(cell.writer));
    }
    accesses_.push_back({&cell, write});
  };
  if (slice.buffer == BufferId::scratch) {
    visit(scratch_[slice.slot]);
  } else {
    for (std::uint32_t i = 0; i < slice.count; ++i) visit(cell(slice.buffer, slice.first + i));
  }
}

void ScheduleBuilder::push(Step step) {
  const auto id = static_cast<StepId>(schedule_.steps.size());
  for (const auto [cell, write] : accesses_) {
    if (!write) cell->readers.push_back(id);
  }
  for (const auto [cell, write] : accesses_) {
    if (!write) continue;
    cell->writer = static_cast<std::int32_t>(id);
    cell->readers.clear();
  }
  std::sort(depends_.begin(), depends_.end());
  depends_.erase(std::unique(depends_.begin(), depends_.end()), depends_.end());
  for (StepId step_before = epoch_; step_before < fence_; ++step_before) {
    edges_.emplace_back(step_before, id);
  }
  for (const StepId before : depends_) {
    if (before >= fence_) edges_.emplace_back(before, id);  // the fence orders earlier ones
  }
  schedule_.steps.push_back(step);
  accesses_.clear();
  depends_.clear();
}

void ScheduleBuilder::send(Rank to, Slice from) {
  check_peer(to, "send");
  check(from, false, "send");
  touch(from, false);
  push({StepKind::send, from.buffer, {}, {}, from.slot, 0, 0, from.first, from.count, to});
}

void ScheduleBuilder::recv(Rank from, Slice into) {
  check_peer(from, "recv");
  check(into, true, "recv");
  touch(into, true);
  push({StepKind::recv, {}, {}, into.buffer, 0, 0, into.slot, into.first, into.count, from});
}

void ScheduleBuilder::copy(Slice from, Slice into) {
  check(from, false, "copy");
  require(from.first == into.first && from.count == into.count,
          "copy: source and destination name different blocks, {}+{} and {}+{}", from.first,
          from.count, into.first, into.count);
  const bool scratch = from.buffer == BufferId::scratch || into.buffer == BufferId::scratch;
  const bool same_place =
      from.buffer == into.buffer ? from.slot == into.slot : shape_.in_place && !scratch;
  if (same_place && (scratch || schedule_.space.output.holds(into.first, into.count))) return;
  check(into, true, "copy");
  touch(from, false);
  touch(into, true);
  push({StepKind::copy,
        from.buffer,
        {},
        into.buffer,
        from.slot,
        0,
        into.slot,
        from.first,
        from.count,
        -1});
}

void ScheduleBuilder::reduce(Slice a, Slice b, Slice into) {
  check(a, false, "reduce");
  check(b, false, "reduce");
  check(into, true, "reduce");
  require(a.first == into.first && a.count == into.count && b.first == into.first &&
              b.count == into.count,
          "reduce: the three slices name different blocks, {}+{}, {}+{} and {}+{}", a.first,
          a.count, b.first, b.count, into.first, into.count);
  touch(a, false);
  touch(b, false);
  touch(into, true);
  push({StepKind::reduce, a.buffer, b.buffer, into.buffer, a.slot, b.slot, into.slot, a.first,
        a.count, -1});
}

void ScheduleBuilder::signal(Rank to) {
  check_peer(to, "signal");
  push({StepKind::send, {}, {}, {}, 0, 0, 0, 0, 0, to});
}

void ScheduleBuilder::wait_signal(Rank from) {
  check_peer(from, "wait_signal");
  push({StepKind::recv, {}, {}, {}, 0, 0, 0, 0, 0, from});
}

void ScheduleBuilder::fence() {
  const auto now = static_cast<StepId>(schedule_.steps.size());
  if (now == fence_) return;
  epoch_ = fence_;
  fence_ = now;
}

Schedule ScheduleBuilder::finish() && {
  schedule_.slots = static_cast<std::uint32_t>(scratch_.size());
  set_edges(schedule_, edges_);
  return std::move(schedule_);
}

void set_edges(Schedule& schedule, const std::vector<std::pair<StepId, StepId>>& edges) {
  const std::size_t steps = schedule.steps.size();
  std::vector<std::uint32_t> begin(steps + 1, 0);
  for (const auto& [from, to] : edges) {
    require(from < steps && to < steps, "set_edges: {}->{} names a step beyond the last, {}", from,
            to, steps);
    ++begin[from + 1];
  }
  for (std::size_t i = 0; i < steps; ++i) begin[i + 1] += begin[i];
  std::vector<StepId> targets(edges.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (const auto& [from, to] : edges) targets[next[from]++] = to;

  schedule.successors.clear();
  schedule.first_successor.assign(1, 0);
  schedule.in_degrees.assign(steps, 0);
  for (std::size_t i = 0; i < steps; ++i) {
    const auto first = targets.begin() + begin[i];
    const auto last = targets.begin() + begin[i + 1];
    if (!std::is_sorted(first, last)) std::sort(first, last);
    for (auto to = first; to != last; ++to) {
      if (to != first && *to == *(to - 1)) continue;
      require(schedule.in_degrees[*to] < std::numeric_limits<std::uint16_t>::max(),
              "set_edges: step {} waits for more than 65535 others", *to);
      ++schedule.in_degrees[*to];
      schedule.successors.push_back(*to);
    }
    schedule.first_successor.push_back(static_cast<std::uint32_t>(schedule.successors.size()));
  }
}

}  // namespace commtune
