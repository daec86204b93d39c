#include "collectives/schedule/schedule.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace commtune {

BlockSpace block_space(Collective collective, const Shape& shape, std::uint32_t blocks) {
  using Range = BlockSpace::Range;
  const auto rank = static_cast<std::uint32_t>(shape.rank);
  const auto size = static_cast<std::uint32_t>(shape.size);
  const bool root = shape.rank == shape.root;
  const std::uint64_t parts_in_all = !parted(collective) ? 1
                                     : collective == Collective::alltoall
                                         ? std::uint64_t{size} * size
                                         : size;
  require(blocks <= std::numeric_limits<std::uint32_t>::max() / parts_in_all,
          "schedule: {} of {} ranks with {} blocks per part has more blocks than can be numbered",
          name(collective), size, blocks);
  const Range none{}, all{0, blocks}, parts{0, blocks * size}, part{rank * blocks, blocks};
  switch (collective) {
    case Collective::allreduce:
    case Collective::scan:
      return {blocks, all, all};
    case Collective::exscan:
      return {blocks, all, rank == 0 ? none : all};
    case Collective::reduce:
      return {blocks, all, root ? all : none};
    case Collective::broadcast:
      return {blocks, root ? all : none, all};
    case Collective::allgather:
      return {parts.count, part, parts};
    case Collective::gather:
      return {parts.count, part, root ? parts : none};
    case Collective::reduce_scatter:
      return {parts.count, parts, part};
    case Collective::scatter:
      return {parts.count, root ? parts : none, part};
    case Collective::sendrecv:
      return {parts.count, part, Range{(rank + size - 1) % size * blocks, blocks}};
    case Collective::alltoall:
      return {parts.count * size, Range{rank * parts.count, parts.count},
              Range{rank * blocks, parts.count, blocks, parts.count}};
    case Collective::barrier:
      break;
  }
  return {};
}

Storage::Storage(const BlockSpace& space, bool in_place)
    : input_(space.input),
      output_(space.output),
      output_begin_(in_place ? 0 : space.input.count),
      cells_(space.input.count + space.output.count) {
  if (!in_place) return;
  cells_ = std::max(input_.count, output_.count);
  // Where one buffer is a part of the other, the wider one numbers the shared storage.
  if (input_.count < output_.count) input_ = output_;
  if (output_.count < input_.count) output_ = input_;
}

ScheduleBuilder::ScheduleBuilder(Collective collective, const Shape& shape, std::uint32_t blocks)
    : shape_(shape), storage_({}, false) {
  require(shape.size >= 1 && shape.rank >= 0 && shape.rank < shape.size,
          "schedule: rank {} of {} does not exist", shape.rank, shape.size);
  require(shape.root >= 0 && shape.root < shape.size,
          "schedule: root {} is not one of the {} ranks", shape.root, shape.size);
  require(blocks > 0 || collective == Collective::barrier, "schedule: {} needs at least one block",
          name(collective));
  schedule_.space = block_space(collective, shape, blocks);
  storage_ = Storage(schedule_.space, shape.in_place);
  data_.resize(storage_.cells());
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
  require(range.holds(slice.first, slice.count),
          "{}: rank {}'s {} holds {} blocks from {}, not {}+{}", what, shape_.rank,
          input ? "input" : "output", range.count, range.first, slice.first, slice.count);
  require(!write || !input || (shape_.in_place && space.output.holds(slice.first, slice.count)),
          "{}: writes blocks {}+{} of rank {}'s input, which belongs to the caller", what,
          slice.first, slice.count, shape_.rank);
}

void ScheduleBuilder::check_peer(Rank peer, const char* what) const {
  require(peer >= 0 && peer < shape_.size && peer != shape_.rank,
          "{}: rank {} of {} cannot talk to rank {}", what, shape_.rank, shape_.size, peer);
}

template <class Visit>
void ScheduleBuilder::for_each_cell(Slice slice, Visit visit) {
  if (slice.buffer == BufferId::scratch) {
    visit(scratch_[slice.slot]);
    return;
  }
  // A slice lies in one run of the buffer, so its cells follow one another.
  Cell* const cells = &data_[storage_.cell(slice.buffer, slice.first)];
  for (std::uint32_t i = 0; i < slice.count; ++i) visit(cells[i]);
}

void ScheduleBuilder::depend(StepId on) {
  const auto id = static_cast<StepId>(schedule_.steps.size());
  // The fence orders the steps before it.
  if (on == id || on < fence_ || last_dependent_[on] == id) return;
  last_dependent_[on] = id;
  edges_.emplace_back(on, id);
}

void ScheduleBuilder::read(Slice slice) {
  const auto id = static_cast<StepId>(schedule_.steps.size());
  for_each_cell(slice, [&](Cell& cell) {
    if (cell.writer != none) depend(cell.writer);
    readers_.push_back({id, cell.readers});
    cell.readers = static_cast<std::uint32_t>(readers_.size() - 1);
  });
}

void ScheduleBuilder::write(Slice slice) {
  const auto id = static_cast<StepId>(schedule_.steps.size());
  for_each_cell(slice, [&](Cell& cell) {
    if (cell.readers == none && cell.writer != none) depend(cell.writer);
    for (std::uint32_t i = cell.readers; i != none; i = readers_[i].next) depend(readers_[i].step);
    cell = {id, none};
  });
}

void ScheduleBuilder::push(Step step) {
  const auto id = static_cast<StepId>(schedule_.steps.size());
  for (StepId before = epoch_; before < fence_; ++before) edges_.emplace_back(before, id);
  if (limit_ > 0 && step.peer >= 0 && !continues_message_) wait_for_turn(step.kind);
  schedule_.steps.push_back(step);
  last_dependent_.push_back(none);
}

void ScheduleBuilder::wait_for_turn(StepKind kind) {
  auto& before = issued(kind);
  if (before.size() >= limit_) depend(before[before.size() - limit_]);
  before.push_back(static_cast<StepId>(schedule_.steps.size()));
}

void ScheduleBuilder::send(Rank to, Slice from) {
  check_peer(to, "send");
  check(from, false, "send");
  read(from);
  push({.kind = StepKind::send,
        .a = from.buffer,
        .a_slot = from.slot,
        .first = from.first,
        .count = from.count,
        .peer = to});
}

void ScheduleBuilder::send(Rank to, std::span<const Slice> from) {
  const auto first = static_cast<StepId>(schedule_.steps.size());
  for (const Slice slice : from) {
    send(to, slice);
    continues_message_ = true;
  }
  join(first);
}

void ScheduleBuilder::recv(Rank from, std::span<const Slice> into) {
  const auto first = static_cast<StepId>(schedule_.steps.size());
  for (const Slice slice : into) {
    recv(from, slice);
    continues_message_ = true;
  }
  join(first);
}

/// Makes one message of the steps from `first` on. Whatever one of them waits for the first one
/// waits for, so the message is ready as a whole.
void ScheduleBuilder::join(StepId first) {
  continues_message_ = false;
  const auto end = static_cast<StepId>(schedule_.steps.size());
  if (end - first < 2) return;
  if (limit_ > 0) issued(schedule_.steps[first].kind).back() = end - 1;
  for (StepId step = first; step + 1 < end; ++step) schedule_.steps[step].joined = true;
  for (std::size_t i = edges_.size(); i-- > 0 && edges_[i].second >= first;) {
    const auto [before, step] = edges_[i];
    require(before < first, "a message of several runs touches one place twice");
    if (step != first) edges_.emplace_back(before, first);
  }
}

void ScheduleBuilder::recv(Rank from, Slice into) {
  check_peer(from, "recv");
  check(into, true, "recv");
  write(into);
  push({.kind = StepKind::recv,
        .dst = into.buffer,
        .dst_slot = into.slot,
        .first = into.first,
        .count = into.count,
        .peer = from});
}

void ScheduleBuilder::copy(Slice from, Slice into) {
  check(from, false, "copy");
  require(from.first == into.first && from.count == into.count,
          "copy: source and destination name different blocks, {}+{} and {}+{}", from.first,
          from.count, into.first, into.count);
  check(into, true, "copy");
  const bool from_scratch = from.buffer == BufferId::scratch;
  const bool into_scratch = into.buffer == BufferId::scratch;
  if (from_scratch || into_scratch) {
    if (from_scratch && into_scratch && from.slot == into.slot) return;
  } else if (storage_.cell(from.buffer, from.first) == storage_.cell(into.buffer, into.first)) {
    return;
  }
  read(from);
  write(into);
  push({.kind = StepKind::copy,
        .a = from.buffer,
        .dst = into.buffer,
        .a_slot = from.slot,
        .dst_slot = into.slot,
        .first = from.first,
        .count = from.count,
        .peer = -1});
}

void ScheduleBuilder::reduce(Slice a, Slice b, Slice into) {
  check(a, false, "reduce");
  check(b, false, "reduce");
  check(into, true, "reduce");
  require(a.first == into.first && a.count == into.count && b.first == into.first &&
              b.count == into.count,
          "reduce: the three slices name different blocks, {}+{}, {}+{} and {}+{}", a.first,
          a.count, b.first, b.count, into.first, into.count);
  read(a);
  read(b);
  write(into);
  push({.kind = StepKind::reduce,
        .a = a.buffer,
        .b = b.buffer,
        .dst = into.buffer,
        .a_slot = a.slot,
        .b_slot = b.slot,
        .dst_slot = into.slot,
        .first = a.first,
        .count = a.count,
        .peer = -1});
}

void ScheduleBuilder::signal(Rank to) {
  check_peer(to, "signal");
  push({.kind = StepKind::send, .peer = to});
}

void ScheduleBuilder::wait_signal(Rank from) {
  check_peer(from, "wait_signal");
  push({.kind = StepKind::recv, .peer = from});
}

void ScheduleBuilder::fence() {
  const auto now = static_cast<StepId>(schedule_.steps.size());
  if (now == fence_) return;
  epoch_ = fence_;
  fence_ = now;
}

void ScheduleBuilder::limit_in_flight(std::uint32_t messages) {
  limit_ = messages;
  sends_.clear();
  recvs_.clear();
}

Schedule ScheduleBuilder::finish() && {
  schedule_.slots = static_cast<std::uint32_t>(scratch_.size());
  set_edges(schedule_, edges_);
  // All ranks' programs may be held at once.
  schedule_.steps.shrink_to_fit();
  schedule_.successors.shrink_to_fit();
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
  schedule.successors.reserve(edges.size());
  schedule.first_successor.clear();
  schedule.first_successor.reserve(steps + 1);
  schedule.first_successor.push_back(0);
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
