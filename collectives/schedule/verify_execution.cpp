#include <array>
#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/symbols.hpp"
#include "collectives/schedule/verify_passes.hpp"

namespace commtune {
namespace {

class Execution {
 public:
  Execution(const VerifyInput& input, const Matching& matching);
  std::optional<Violation> run(Facts& facts);

 private:
  /// One direction of one rank: its sends, or its recvs, in program order. Only the head is posted.
  struct Queue {
    std::uint32_t next, end;  ///< into queued_
  };
  Queue& queue(Rank rank, bool sends) {
    return queues_[2 * static_cast<std::size_t>(rank) + (sends ? 1 : 0)];
  }
  bool posted(std::uint32_t step, bool sends) {
    const Queue& line = queue(owner_[step], sends);
    return line.next < line.end && queued_[line.next] == step && waiting_[step] == 0;
  }
  const Schedule& schedule(Rank rank) const {
    return input_.schedules[static_cast<std::size_t>(rank)];
  }
  const Step& step_of(std::uint32_t step) const { return *steps_[step]; }
  StepId local(std::uint32_t step) const {
    return step - matching_.begin[static_cast<std::size_t>(owner_[step])];
  }

  void fill_queues();
  void fill_storage();
  std::uint32_t locate(Rank rank, BufferId buffer, std::uint16_t slot, std::uint32_t first) const;
  /// Where `step` writes; a scratch slot takes the run over.
  SymbolicValue* destination(Rank rank, const Step& step);
  void wake(std::uint32_t step);
  bool execute(std::uint32_t step);
  bool deliver(std::uint32_t send, std::uint32_t recv);
  void complete(std::uint32_t step);
  void advance(std::uint32_t step, bool sends);
  void merge_arrivals(std::uint32_t into, std::uint32_t from);
  void report(Violation::Kind kind, std::uint32_t step, const std::string& detail);
  bool reads_nothing(std::uint32_t step, const SymbolicValue* values);
  Violation stuck() const;
  std::optional<Violation> check_outputs(Facts& facts) const;
  std::optional<Violation> check_output(Rank rank, std::uint32_t block,
                                        const SymbolicValue& expected, Facts& facts) const;
  std::optional<Violation> check_arrivals() const;

  const VerifyInput& input_;
  const Matching& matching_;
  std::vector<const Step*> steps_;
  std::vector<Rank> owner_;
  std::vector<std::uint16_t> waiting_;
  std::vector<std::uint32_t> queued_, ready_;
  std::vector<Queue> queues_;
  std::vector<Storage> storage_;
  std::vector<std::uint32_t> data_begin_;     ///< per rank, into values_
  std::vector<std::uint32_t> slot_begin_;     ///< per slot of every rank, into values_
  std::vector<std::uint32_t> slot_first_;     ///< block that stands at slot_begin_ now
  std::vector<std::uint32_t> rank_slots_;     ///< first slot of each rank in slot_begin_
  std::vector<SymbolicValue> values_, sums_;  ///< sums_: of every block over all ranks
  std::size_t arrival_words_ = 0;
  std::vector<std::uint64_t> arrivals_;  ///< barrier: ranks each step's completion implies
  std::size_t completed_ = 0;
  std::optional<Violation> found_;
};

Execution::Execution(const VerifyInput& input, const Matching& matching)
    : input_(input), matching_(matching) {
  const std::size_t total = matching.begin.back();
  steps_.reserve(total);
  owner_.reserve(total);
  waiting_.reserve(total);
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    const Schedule& program = input.schedules[r];
    for (const Step& step : program.steps) steps_.push_back(&step);
    owner_.insert(owner_.end(), program.steps.size(), static_cast<Rank>(r));
    waiting_.insert(waiting_.end(), program.in_degrees.begin(), program.in_degrees.end());
  }
  fill_queues();
  fill_storage();
  if (input.collective == Collective::barrier) {
    arrival_words_ = (input.ranks() + 63) / 64;
    arrivals_.assign(total * arrival_words_, 0);
    for (std::uint32_t step = 0; step < total; ++step) {
      const auto rank = static_cast<std::size_t>(owner_[step]);
      arrivals_[step * arrival_words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
    }
  }
}

void Execution::fill_queues() {
  for (std::size_t r = 0; r < input_.ranks(); ++r) {
    for (const StepKind kind : {StepKind::recv, StepKind::send}) {
      const auto begin = static_cast<std::uint32_t>(queued_.size());
      for (std::uint32_t step = matching_.begin[r]; step < matching_.begin[r + 1]; ++step) {
        if (steps_[step]->kind == kind) queued_.push_back(step);
      }
      queues_.push_back({begin, static_cast<std::uint32_t>(queued_.size())});
    }
  }
}

void Execution::fill_storage() {
  std::uint32_t total = 0;
  std::vector<std::uint32_t> widths;
  for (const Schedule& program : input_.schedules) {
    storage_.emplace_back(program.space, input_.in_place);
    data_begin_.push_back(total);
    rank_slots_.push_back(static_cast<std::uint32_t>(slot_begin_.size()));
    total += storage_.back().cells();
    widths.assign(program.slots, 0);
    for (const Step& step : program.steps) {
      for_each_access(step, [&](BufferId buffer, std::uint16_t slot, bool) {
        if (buffer == BufferId::scratch) widths[slot] = std::max(widths[slot], step.count);
      });
    }
    for (const std::uint32_t width : widths) {
      slot_begin_.push_back(total);
      total += width;
    }
  }
  slot_first_.assign(slot_begin_.size(), 0);
  values_.assign(total, SymbolicValue{});
  sums_.assign(input_.schedules[0].space.blocks, SymbolicValue{});
  for (std::size_t r = 0; r < input_.ranks(); ++r) {
    const auto rank = static_cast<Rank>(r);
    const auto& range = input_.schedules[r].space.input;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const std::uint32_t block = range.block(i);
      const SymbolicValue value = contribution(rank, block);
      values_[locate(rank, BufferId::input, 0, block)] = value;
      sums_[block] = sums_[block].written() ? combine(sums_[block], value) : value;
    }
  }
}

std::uint32_t Execution::locate(Rank rank, BufferId buffer, std::uint16_t slot,
                                std::uint32_t first) const {
  const auto r = static_cast<std::size_t>(rank);
  if (buffer == BufferId::scratch) {
    const std::size_t held = rank_slots_[r] + slot;
    return slot_begin_[held] + first - slot_first_[held];
  }
  return data_begin_[r] + storage_[r].cell(buffer, first);
}

SymbolicValue* Execution::destination(Rank rank, const Step& step) {
  if (step.dst == BufferId::scratch) {
    slot_first_[rank_slots_[static_cast<std::size_t>(rank)] + step.dst_slot] = step.first;
  }
  return &values_[locate(rank, step.dst, step.dst_slot, step.first)];
}

void Execution::report(Violation::Kind kind, std::uint32_t step, const std::string& detail) {
  found_ = Violation{kind, owner_[step], local(step),
                     fmt::format("rank {} step {}: {}: {}", owner_[step], local(step),
                                 describe(step_of(step)), detail)};
}

bool Execution::reads_nothing(std::uint32_t step, const SymbolicValue* values) {
  for (std::uint32_t i = 0; i < step_of(step).count; ++i) {
    if (values[i].written()) continue;
    report(Violation::Kind::unwritten, step,
           fmt::format("reads block {} before anything wrote it", step_of(step).first + i));
    return true;
  }
  return false;
}

/// Called when a step has become ready or has moved to the head of its queue.
void Execution::wake(std::uint32_t step) {
  const StepKind kind = step_of(step).kind;
  if (kind == StepKind::copy || kind == StepKind::reduce) {
    ready_.push_back(step);
    return;
  }
  const bool sends = kind == StepKind::send;
  const std::uint32_t partner = matching_.partner[step];
  if (posted(step, sends) && posted(partner, !sends)) ready_.push_back(sends ? step : partner);
}

bool Execution::execute(std::uint32_t step) {
  const Step& what = step_of(step);
  const Rank rank = owner_[step];
  const SymbolicValue* a = &values_[locate(rank, what.a, what.a_slot, what.first)];
  if (reads_nothing(step, a)) return false;
  if (what.kind == StepKind::copy) {
    std::copy_n(a, what.count, destination(rank, what));
  } else {
    const SymbolicValue* b = &values_[locate(rank, what.b, what.b_slot, what.first)];
    if (reads_nothing(step, b)) return false;
    SymbolicValue* const into = destination(rank, what);
    for (std::uint32_t i = 0; i < what.count; ++i) into[i] = combine(a[i], b[i]);
  }
  complete(step);
  return true;
}

bool Execution::deliver(std::uint32_t send, std::uint32_t recv) {
  const Step& from = step_of(send);
  const Step& to = step_of(recv);
  if (from.count != 0) {
    const SymbolicValue* data = &values_[locate(owner_[send], from.a, from.a_slot, from.first)];
    if (reads_nothing(send, data)) return false;
    std::copy_n(data, from.count, destination(owner_[recv], to));
  }
  merge_arrivals(recv, send);
  advance(send, true);
  advance(recv, false);
  complete(send);
  complete(recv);
  return true;
}

void Execution::merge_arrivals(std::uint32_t into, std::uint32_t from) {
  for (std::size_t i = 0; i < arrival_words_; ++i) {
    arrivals_[into * arrival_words_ + i] |= arrivals_[from * arrival_words_ + i];
  }
}

void Execution::advance(std::uint32_t step, bool sends) {
  Queue& line = queue(owner_[step], sends);
  ++line.next;
  if (line.next < line.end && waiting_[queued_[line.next]] == 0) wake(queued_[line.next]);
}

void Execution::complete(std::uint32_t step) {
  ++completed_;
  const Rank rank = owner_[step];
  const std::uint32_t begin = matching_.begin[static_cast<std::size_t>(rank)];
  for (const StepId successor : schedule(rank).successors_of(local(step))) {
    merge_arrivals(begin + successor, step);
    if (--waiting_[begin + successor] == 0) wake(begin + successor);
  }
}

std::optional<Violation> Execution::run(Facts& facts) {
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    const StepKind kind = steps_[step]->kind;
    // A message becomes ready once both ends are posted: look at it from the sender's side.
    if (waiting_[step] == 0 && kind != StepKind::recv) wake(step);
  }
  while (!ready_.empty()) {
    const std::uint32_t step = ready_.back();
    ready_.pop_back();
    const bool done = step_of(step).kind == StepKind::send ? deliver(step, matching_.partner[step])
                                                           : execute(step);
    if (!done) return found_;
  }
  if (completed_ != steps_.size()) return stuck();
  return input_.collective == Collective::barrier ? check_arrivals() : check_outputs(facts);
}

Violation Execution::stuck() const {
  // The first message that is ready but whose other end is not says most.
  for (const Queue& line : queues_) {
    if (line.next == line.end || waiting_[queued_[line.next]] != 0) continue;
    const std::uint32_t step = queued_[line.next], partner = matching_.partner[step];
    const bool sends = step_of(step).kind == StepKind::send;
    const auto& other = queues_[2 * static_cast<std::size_t>(owner_[partner]) + (sends ? 0 : 1)];
    const std::uint32_t head = queued_[other.next];
    const std::string reason =
        head == partner
            ? fmt::format("rank {} step {}, the other end, waits for steps that cannot finish",
                          owner_[partner], local(partner))
            : fmt::format("rank {} is held up in step {} ({}) before step {}, the other end",
                          owner_[partner], local(head), describe(step_of(head)), local(partner));
    return {Violation::Kind::deadlock, owner_[step], local(step),
            fmt::format("rank {} step {}: {}: never completes: {}", owner_[step], local(step),
                        describe(step_of(step)), reason)};
  }
  return {Violation::Kind::deadlock, 0, 0, "no step of any rank can start"};
}

std::optional<Violation> Execution::check_outputs(Facts& facts) const {
  const bool prefix =
      input_.collective == Collective::scan || input_.collective == Collective::exscan;
  // Of scan: the sum over the ranks up to the one that is looked at; of exscan: before it.
  std::vector<SymbolicValue> sums(prefix ? sums_.size() : 0);
  const auto add = [&](Rank rank) {
    for (std::uint32_t block = 0; block < sums.size(); ++block) {
      const SymbolicValue term = contribution(rank, block);
      sums[block] = sums[block].written() ? combine(sums[block], term) : term;
    }
  };
  for (std::size_t r = 0; r < input_.ranks(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (input_.collective == Collective::scan) add(rank);
    const auto& range = input_.schedules[r].space.output;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const std::uint32_t block = range.block(i);
      // Only one rank contributes to a block of broadcast and the like, so its sum is the value.
      auto found = check_output(rank, block, prefix ? sums[block] : sums_[block], facts);
      if (found) return found;
    }
    if (input_.collective == Collective::exscan) add(rank);
  }
  return std::nullopt;
}

std::optional<Violation> Execution::check_output(Rank rank, std::uint32_t block,
                                                 const SymbolicValue& expected,
                                                 Facts& facts) const {
  const auto& program = input_.schedules[static_cast<std::size_t>(rank)];
  const auto end = static_cast<StepId>(program.steps.size());
  const SymbolicValue& got = values_[locate(rank, BufferId::output, 0, block)];
  if (!got.written()) {
    return Violation{Violation::Kind::unwritten, rank, end,
                     fmt::format("rank {}: nothing writes output block {}", rank, block)};
  }
  if (!got.same_terms(expected)) {
    return Violation{
        Violation::Kind::wrong_value, rank, end,
        fmt::format("rank {}: output block {} is wrong: {}", rank, block,
                    explain(got, expected, block, input_.ranks(), reduces(input_.collective)))};
  }
  if (got.from >= got.until) facts.keeps_order = false;
  if (input_.collective == Collective::allreduce &&
      got.tree != values_[locate(0, BufferId::output, 0, block)].tree) {
    return Violation{Violation::Kind::wrong_value, rank, end,
                     fmt::format("rank {}: output block {} is summed in another order than on "
                                 "rank 0, so their last bits may differ",
                                 rank, block)};
  }
  return std::nullopt;
}

std::optional<Violation> Execution::check_arrivals() const {
  for (std::size_t r = 0; r < input_.ranks(); ++r) {
    std::vector<std::uint64_t> known(arrival_words_, 0);
    known[r / 64] |= std::uint64_t{1} << (r % 64);
    for (std::size_t step = matching_.begin[r]; step < matching_.begin[r + 1]; ++step) {
      for (std::size_t i = 0; i < arrival_words_; ++i) {
        known[i] |= arrivals_[step * arrival_words_ + i];
      }
    }
    for (std::size_t other = 0; other < input_.ranks(); ++other) {
      if ((known[other / 64] >> (other % 64) & 1) != 0) continue;
      return Violation{
          Violation::Kind::wrong_value, static_cast<Rank>(r),
          static_cast<StepId>(input_.schedules[r].steps.size()),
          fmt::format("rank {} can leave the barrier before rank {} has entered it", r, other)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> check_execution(const VerifyInput& input, const Matching& matching,
                                         Facts& facts) {
  return Execution(input, matching).run(facts);
}

}  // namespace commtune
