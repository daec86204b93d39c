#include <map>
#include <utility>

#include "collectives/runtime/plan.hpp"

namespace commtune {
namespace {

/// Runs the plans of all ranks without data.
class Rehearsal {
 public:
  explicit Rehearsal(const std::vector<Plan>& plans) : plans_(plans), ranks_(plans.size()) {
    for (std::size_t r = 0; r < plans.size(); ++r) {
      const Plan& plan = plans[r];
      RankState& rank = ranks_[r];
      rank.waiting.assign(plan.in_degrees.begin(), plan.in_degrees.end());
      rank.readers = plan.view_readers;
      rank.view_senders.resize(plan.view_readers.size());
      rank.left = plan.steps.size();
      for (StepId id = 0; id < plan.steps.size(); ++id) {
        if (plan.steps[id].kind == StepKind::send) rank.sends.push_back(id);
        if (plan.steps[id].kind == StepKind::recv) rank.recvs.push_back(id);
      }
    }
  }

  bool run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (StepId id = 0; id < plans_[r].steps.size(); ++id) {
        if (ranks_[r].waiting[id] == 0 && is_local(r, id)) ready_.emplace_back(r, id);
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) issue(r);
    while (!ready_.empty()) {
      const auto [r, id] = ready_.back();
      ready_.pop_back();
      run_local(r, id);
    }
    for (const RankState& rank : ranks_) {
      if (rank.left != 0) return false;
    }
    return true;
  }

 private:
  struct End {
    std::size_t rank;
    StepId step;
  };
  struct RankState {
    std::vector<std::uint32_t> waiting, readers;
    std::vector<StepId> sends, recvs;
    std::vector<End> view_senders;
    std::size_t next_send = 0, next_recv = 0, left = 0;
    bool receiving = false;
  };

  const PlanStep& step(std::size_t r, StepId id) const { return plans_[r].steps[id]; }
  bool is_local(std::size_t r, StepId id) const {
    return step(r, id).kind == StepKind::copy || step(r, id).kind == StepKind::reduce;
  }

  void issue(std::size_t r) {
    RankState& rank = ranks_[r];
    while (rank.next_send < rank.sends.size() && rank.waiting[rank.sends[rank.next_send]] == 0) {
      const StepId id = rank.sends[rank.next_send++];
      const auto to = static_cast<std::size_t>(step(r, id).peer);
      sent_[{r, to}].push_back(id);
      receive(to);
    }
    receive(r);
  }

  /// Takes the message that the next recv of a rank waits for, if it has been sent.
  void receive(std::size_t r) {
    RankState& rank = ranks_[r];
    while (!rank.receiving && rank.next_recv < rank.recvs.size() &&
           rank.waiting[rank.recvs[rank.next_recv]] == 0) {
      const StepId id = rank.recvs[rank.next_recv];
      const PlanStep& what = step(r, id);
      const auto from = static_cast<std::size_t>(what.peer);
      auto& sent = sent_[{from, r}];
      std::size_t& taken = taken_[{from, r}];
      if (taken == sent.size()) return;
      const StepId send = sent[taken++];
      ++rank.next_recv;
      rank.receiving = true;
      if (what.view == Operand::none) {
        retire(from, send);
      } else {
        rank.view_senders[what.view] = {from, send};
      }
      retire(r, id);
      rank.receiving = false;
    }
  }

  void run_local(std::size_t r, StepId id) {
    const PlanStep& what = step(r, id);
    for (std::uint32_t i = 0; i < what.operands; ++i) {
      const std::uint32_t view = plans_[r].operands[what.first_operand + i].view;
      if (view == Operand::none || --ranks_[r].readers[view] != 0) continue;
      const End sender = ranks_[r].view_senders[view];
      retire(sender.rank, sender.step);
    }
    retire(r, id);
  }

  void retire(std::size_t r, StepId id) {
    RankState& rank = ranks_[r];
    --rank.left;
    const Plan& plan = plans_[r];
    for (auto i = plan.first_successor[id]; i < plan.first_successor[id + 1]; ++i) {
      const StepId next = plan.successors[i];
      if (--rank.waiting[next] == 0 && is_local(r, next)) ready_.emplace_back(r, next);
    }
    issue(r);
  }

  const std::vector<Plan>& plans_;
  std::vector<RankState> ranks_;
  std::vector<std::pair<std::size_t, StepId>> ready_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<StepId>> sent_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> taken_;
};

}  // namespace

bool completes(const std::vector<Plan>& plans) { return Rehearsal(plans).run(); }

}  // namespace commtune
