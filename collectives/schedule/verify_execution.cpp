#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/symbols.hpp"
#include "collectives/schedule/verify_memory.hpp"
#include "collectives/schedule/verify_rehearsal.hpp"

namespace commtune {
namespace {

/// Bytes of symbolic values held at once. Vectors of more blocks are checked group by group.
constexpr std::size_t value_budget = std::size_t{256} << 20;

/// What each block of a group should hold, as the sum over the ranks [0, n).
class Sums {
 public:
  Sums(BlockGroup group, std::size_t ranks) : group_(group), sums_(group.last - group.first) {
    for (std::size_t r = 0; r < ranks; ++r) add(static_cast<Rank>(r));
  }
  void add(Rank rank) {
    std::uint32_t block = group_.first;
    for (SymbolicValue& sum : sums_) {
      const SymbolicValue term = contribution(rank, block++);
      sum = sum.written() ? combine(sum, term) : term;
    }
  }
  const SymbolicValue& of(std::uint32_t block) const { return sums_[block - group_.first]; }

 private:
  BlockGroup group_;
  std::vector<SymbolicValue> sums_;
};

class ValueCheck final : public Rehearsal::Visitor {
 public:
  explicit ValueCheck(const VerifyInput& input) : input_(input), memory_(input) {}

  std::uint32_t group_size() { return memory_.group_size(value_budget); }
  void start(BlockGroup group) {
    group_ = group;
    memory_.start(group);
    for (std::size_t r = 0; r < input_.ranks(); ++r) {
      const auto rank = static_cast<Rank>(r);
      memory_.for_each_block(
          rank, BufferId::input,
          [rank](std::uint32_t block, SymbolicValue& value) { value = contribution(rank, block); });
    }
  }
  std::optional<Violation> found() const { return found_; }
  /// What the programs left.
  std::optional<Violation> check_outputs(Facts& facts);

  bool local(Rank rank, StepId id) override {
    const Step& step = step_of(rank, id);
    const auto a = memory_.source(rank, step);
    if (a.values == nullptr) return true;
    if (reads_nothing(rank, id, a)) return false;
    if (step.kind == StepKind::copy) {
      std::copy_n(a.values, a.count, memory_.destination(rank, step).values);
      return true;
    }
    const auto b = memory_.other_source(rank, step);
    if (reads_nothing(rank, id, b)) return false;
    SymbolicValue* const into = memory_.destination(rank, step).values;
    for (std::uint32_t i = 0; i < a.count; ++i) into[i] = combine(a.values[i], b.values[i]);
    return true;
  }

  bool message(Rank from, StepId send, Rank to, StepId recv) override {
    const auto data = memory_.source(from, step_of(from, send));
    if (data.values == nullptr) return true;
    if (reads_nothing(from, send, data)) return false;
    std::copy_n(data.values, data.count, memory_.destination(to, step_of(to, recv)).values);
    return true;
  }

 private:
  using Run = SymbolicMemory<SymbolicValue>::Run;

  const Step& step_of(Rank rank, StepId step) const {
    return input_.schedules[static_cast<std::size_t>(rank)].steps[step];
  }
  bool reads_nothing(Rank rank, StepId id, const Run& run) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (run.values[i].written()) continue;
      found_ = Violation{Violation::Kind::unwritten, rank, id,
                         fmt::format("rank {} step {}: {}: reads block {} before anything wrote it",
                                     rank, id, describe(step_of(rank, id)), run.first + i),
                         run.first + i};
      return true;
    }
    return false;
  }
  /// The rank whose input a block of a collective that combines nothing comes from.
  Rank owner_of(std::uint32_t block) const;
  std::optional<Violation> check_output(Rank rank, std::uint32_t block, const SymbolicValue& got,
                                        const SymbolicValue& expected, Facts& facts);

  const VerifyInput& input_;
  BlockGroup group_;
  SymbolicMemory<SymbolicValue> memory_;
  std::optional<Violation> found_;
};

Rank ValueCheck::owner_of(std::uint32_t block) const {
  const std::uint32_t part = part_blocks(input_, input_.schedules[0].space.blocks);
  switch (input_.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return input_.root;
    case Collective::alltoall:
      return static_cast<Rank>(block / part / static_cast<std::uint32_t>(input_.ranks()));
    case Collective::allgather:
    case Collective::gather:
    case Collective::sendrecv:
      return static_cast<Rank>(block / part);
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier:
      break;
  }
  return -1;
}

std::optional<Violation> ValueCheck::check_outputs(Facts& facts) {
  const bool prefix =
      input_.collective == Collective::scan || input_.collective == Collective::exscan;
  const bool combines = reduces(input_.collective);
  Sums sums(combines ? group_ : BlockGroup{}, prefix ? 0 : input_.ranks());
  std::optional<Violation> found;
  for (std::size_t r = 0; r < input_.ranks() && !found; ++r) {
    const auto rank = static_cast<Rank>(r);
    if (input_.collective == Collective::scan) sums.add(rank);
    memory_.for_each_block(
        rank, BufferId::output, [&](std::uint32_t block, const SymbolicValue& got) {
          if (found) return;
          found =
              check_output(rank, block, got,
                           combines ? sums.of(block) : contribution(owner_of(block), block), facts);
        });
    if (input_.collective == Collective::exscan) sums.add(rank);
  }
  return found;
}

std::optional<Violation> ValueCheck::check_output(Rank rank, std::uint32_t block,
                                                  const SymbolicValue& got,
                                                  const SymbolicValue& expected, Facts& facts) {
  const auto end =
      static_cast<StepId>(input_.schedules[static_cast<std::size_t>(rank)].steps.size());
  if (!got.written()) {
    return Violation{Violation::Kind::unwritten, rank, end,
                     fmt::format("rank {}: nothing writes output block {}", rank, block), block};
  }
  if (!got.same_terms(expected)) {
    return Violation{
        Violation::Kind::wrong_value, rank, end,
        fmt::format("rank {}: output block {} is wrong: {}", rank, block,
                    explain(got, expected, block, input_.ranks(), reduces(input_.collective))),
        block};
  }
  if (got.from >= got.until) facts.keeps_order = false;
  if (input_.collective == Collective::allreduce &&
      got.tree != memory_.at(0, BufferId::output, 0, block, 1).values->tree) {
    return Violation{Violation::Kind::wrong_value, rank, end,
                     fmt::format("rank {}: output block {} is summed in another order than on "
                                 "rank 0, so their last bits may differ",
                                 rank, block),
                     block};
  }
  return std::nullopt;
}

/// Finds out whose entry into a barrier each step knows of.
class ArrivalCheck final : public Rehearsal::Visitor {
 public:
  ArrivalCheck(const VerifyInput& input, const Matching& matching)
      : input_(input),
        matching_(matching),
        words_((input.ranks() + 63) / 64),
        known_(matching.begin.back() * words_, 0),
        leaving_(input.ranks() * words_, 0) {}

  bool local(Rank rank, StepId step) override {
    learn(rank, step);
    return true;
  }
  bool message(Rank from, StepId send, Rank to, StepId recv) override {
    learn(from, send);
    merge(known(to, recv), known(from, send));
    learn(to, recv);
    return true;
  }
  std::optional<Violation> check() {
    for (std::size_t r = 0; r < input_.ranks(); ++r) {
      std::uint64_t* const mine = &leaving_[r * words_];
      mine[r / 64] |= std::uint64_t{1} << (r % 64);
      for (std::size_t other = 0; other < input_.ranks(); ++other) {
        if ((mine[other / 64] >> (other % 64) & 1) != 0) continue;
        return Violation{
            Violation::Kind::wrong_value, static_cast<Rank>(r),
            static_cast<StepId>(input_.schedules[r].steps.size()),
            fmt::format("rank {} can leave the barrier before rank {} has entered it", r, other)};
      }
    }
    return std::nullopt;
  }

 private:
  std::uint64_t* known(Rank rank, StepId step) {
    return &known_[(matching_.begin[static_cast<std::size_t>(rank)] + step) * words_];
  }
  void merge(std::uint64_t* into, const std::uint64_t* from) const {
    for (std::size_t i = 0; i < words_; ++i) into[i] |= from[i];
  }
  /// `step` knows all that it will: passes it on to the steps that wait for it.
  void learn(Rank rank, StepId step) {
    const auto r = static_cast<std::size_t>(rank);
    std::uint64_t* const mine = known(rank, step);
    mine[r / 64] |= std::uint64_t{1} << (r % 64);
    for (const StepId next : input_.schedules[r].successors_of(step)) {
      merge(known(rank, next), mine);
    }
    merge(&leaving_[r * words_], mine);
  }

  const VerifyInput& input_;
  const Matching& matching_;
  std::size_t words_;
  std::vector<std::uint64_t> known_;    ///< by step
  std::vector<std::uint64_t> leaving_;  ///< by rank
};

Violation stuck(const VerifyInput& input, const Rehearsal& rehearsal) {
  // The first message that is ready but whose other end is not says most.
  const auto title = [&](Rank rank, StepId step) {
    return describe(input.schedules[static_cast<std::size_t>(rank)].steps[step]);
  };
  for (std::size_t r = 0; r < input.ranks(); ++r) {
    const auto rank = static_cast<Rank>(r);
    for (StepId step = 0; step < input.schedules[r].steps.size(); ++step) {
      if (rehearsal.done(rank, step)) continue;
      const auto wait = rehearsal.waits_for(rank, step);
      if (wait.reason != Rehearsal::Wait::Reason::other_end) continue;
      const auto next = rehearsal.waits_for(wait.rank, wait.step);
      const std::string reason =
          next.reason == Rehearsal::Wait::Reason::earlier_message
              ? fmt::format("rank {} is held up in step {} ({}) before step {}, the other end",
                            next.rank, next.step, title(next.rank, next.step), wait.step)
              : fmt::format("rank {} step {}, the other end, waits for steps that cannot finish",
                            wait.rank, wait.step);
      return {Violation::Kind::deadlock, rank, step,
              fmt::format("rank {} step {}: {}: never completes: {}", rank, step, title(rank, step),
                          reason)};
    }
  }
  return {Violation::Kind::deadlock, 0, 0, "no step of any rank can start"};
}

}  // namespace

std::optional<Violation> check_execution(const VerifyInput& input, const Matching& matching,
                                         Facts& facts) {
  Rehearsal rehearsal(input.schedules, matching);
  if (input.collective == Collective::barrier) {
    ArrivalCheck arrivals(input, matching);
    if (rehearsal.run(arrivals) == Rehearsal::End::stuck) return stuck(input, rehearsal);
    return arrivals.check();
  }
  ValueCheck values(input);
  const std::uint32_t blocks = input.schedules[0].space.blocks, group = values.group_size();
  for (std::uint32_t first = 0; first < blocks; first += group) {
    values.start({first, std::min(blocks, first + group)});
    switch (rehearsal.run(values)) {
      case Rehearsal::End::finished:
        break;
      case Rehearsal::End::stopped:
        return values.found();
      case Rehearsal::End::stuck:
        return stuck(input, rehearsal);
    }
    if (auto found = values.check_outputs(facts)) return found;
  }
  return std::nullopt;
}

}  // namespace commtune
