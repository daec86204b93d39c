#include "collectives/schedule/matching.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/schedule/export.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// The sends of all ranks, grouped by the rank they go to; in a group ordered by sender, then by
/// program.
class SendLists {
 public:
  SendLists(const std::vector<Schedule>& schedules, const Matching& matching)
      : begin_(schedules.size() + 1, 0) {
    for_each(schedules, matching, [&](Rank to, std::uint32_t) { ++begin_[index(to) + 1]; });
    for (std::size_t r = 0; r < schedules.size(); ++r) begin_[r + 1] += begin_[r];
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    sends_.resize(begin_.back());
    for_each(schedules, matching,
             [&](Rank to, std::uint32_t step) { sends_[next[index(to)]++] = step; });
  }

  std::span<const std::uint32_t> to(std::size_t rank) const {
    return std::span(sends_).subspan(begin_[rank], begin_[rank + 1] - begin_[rank]);
  }

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

  template <class Visit>
  static void for_each(const std::vector<Schedule>& schedules, const Matching& matching,
                       Visit visit) {
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      std::uint32_t id = matching.begin[r];
      for (const Step& step : schedules[r].steps) {
        if (step.kind == StepKind::send) visit(step.peer, id);
        ++id;
      }
    }
  }

  std::vector<std::uint32_t> begin_, sends_;
};

Violation unmatched(const std::vector<Schedule>& schedules, Rank rank, StepId step) {
  const Step& what = schedules[static_cast<std::size_t>(rank)].steps[step];
  return {Violation::Kind::unmatched, rank, step,
          fmt::format("rank {} step {}: {}: rank {} has no matching {}", rank, step, describe(what),
                      what.peer, what.kind == StepKind::send ? "recv" : "send")};
}

class Matcher {
 public:
  Matcher(const std::vector<Schedule>& schedules, Matching& matching)
      : schedules_(schedules),
        matching_(matching),
        sends_(schedules, matching),
        open_(schedules.size()) {}

  /// Pairs what arrives at `receiver`.
  std::optional<Violation> pair(std::size_t receiver) {
    const auto list = sends_.to(receiver);
    std::size_t sender = 0;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      while (list[i] >= matching_.begin[sender + 1]) ++sender;
      if (i == 0 || list[i - 1] < matching_.begin[sender]) open_[sender] = {i, i};
      ++open_[sender].end;
    }
    std::uint32_t id = matching_.begin[receiver];
    for (const Step& step : schedules_[receiver].steps) {
      if (step.kind == StepKind::recv) {
        Open& from = open_[static_cast<std::size_t>(step.peer)];
        if (from.next == from.end) {
          return unmatched(schedules_, static_cast<Rank>(receiver), id - matching_.begin[receiver]);
        }
        const std::uint32_t send = list[from.next++];
        matching_.partner[id] = send;
        matching_.partner[send] = id;
      }
      ++id;
    }
    return close(list);
  }

 private:
  /// Sends of one sender that have no recv yet, as positions in the receiver's list.
  struct Open {
    std::uint32_t next = 0, end = 0;
  };

  std::optional<Violation> close(std::span<const std::uint32_t> list) {
    std::size_t sender = 0;
    for (const std::uint32_t send : list) {
      while (send >= matching_.begin[sender + 1]) ++sender;
      if (open_[sender].next != open_[sender].end) {
        return unmatched(schedules_, static_cast<Rank>(sender),
                         list[open_[sender].next] - matching_.begin[sender]);
      }
      open_[sender] = {};
    }
    return std::nullopt;
  }

  const std::vector<Schedule>& schedules_;
  Matching& matching_;
  SendLists sends_;
  std::vector<Open> open_;  ///< by sender
};

}  // namespace

Rank Matching::rank_of(std::uint32_t step) const {
  return static_cast<Rank>(std::upper_bound(begin.begin(), begin.end(), step) - begin.begin() - 1);
}

std::optional<Violation> match_messages(const std::vector<Schedule>& schedules,
                                        Matching& matching) {
  matching.begin.assign(1, 0);
  for (const Schedule& schedule : schedules) {
    const std::size_t end = matching.begin.back() + schedule.steps.size();
    require(end < Matching::none, "verify: more than {} steps in all", Matching::none);
    matching.begin.push_back(static_cast<std::uint32_t>(end));
  }
  matching.partner.assign(matching.begin.back(), Matching::none);
  Matcher matcher(schedules, matching);
  for (std::size_t receiver = 0; receiver < schedules.size(); ++receiver) {
    if (auto found = matcher.pair(receiver)) return found;
  }
  return std::nullopt;
}

}  // namespace commtune
