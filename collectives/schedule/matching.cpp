#include "collectives/schedule/matching.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/schedule/export.hpp"

namespace commtune {
namespace {

struct End {
  Rank from, to;
  std::uint32_t step;
  bool operator<(const End& other) const {
    return to != other.to ? to < other.to : from < other.from;
  }
};

/// A stable counting sort, so that both kinds of ends are ordered in linear time.
template <class Key>
std::vector<End> bucket(const std::vector<End>& ends, std::size_t ranks, Key key) {
  std::vector<std::uint32_t> next(ranks + 1, 0);
  for (const End& end : ends) ++next[static_cast<std::size_t>(key(end)) + 1];
  for (std::size_t i = 0; i < ranks; ++i) next[i + 1] += next[i];
  std::vector<End> sorted(ends.size());
  for (const End& end : ends) sorted[next[static_cast<std::size_t>(key(end))]++] = end;
  return sorted;
}

Violation unmatched(const std::vector<Schedule>& schedules, const Matching& matching,
                    const End& end) {
  const bool receives = matching.rank_of(end.step) == end.to;
  const Rank rank = receives ? end.to : end.from;
  const StepId step = end.step - matching.begin[static_cast<std::size_t>(rank)];
  const Step& what = schedules[static_cast<std::size_t>(rank)].steps[step];
  return {Violation::Kind::unmatched, rank, step,
          fmt::format("rank {} step {}: {}: rank {} has no matching {}", rank, step, describe(what),
                      receives ? end.from : end.to, receives ? "send" : "recv")};
}

}  // namespace

Rank Matching::rank_of(std::uint32_t step) const {
  return static_cast<Rank>(std::upper_bound(begin.begin(), begin.end(), step) - begin.begin() - 1);
}

std::optional<Violation> match_messages(const std::vector<Schedule>& schedules,
                                        Matching& matching) {
  const std::size_t ranks = schedules.size();
  matching.begin.assign(1, 0);
  std::vector<End> sends, recvs;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto rank = static_cast<Rank>(r);
    std::uint32_t id = matching.begin[r];
    for (const Step& step : schedules[r].steps) {
      if (step.kind == StepKind::send) sends.push_back({rank, step.peer, id});
      if (step.kind == StepKind::recv) recvs.push_back({step.peer, rank, id});
      ++id;
    }
    matching.begin.push_back(id);
  }
  const auto from = [](const End& end) { return end.from; };
  const auto to = [](const End& end) { return end.to; };
  sends = bucket(sends, ranks, to);
  recvs = bucket(bucket(recvs, ranks, from), ranks, to);

  matching.partner.assign(matching.begin.back(), Matching::none);
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    const bool send_left = i < sends.size(), recv_left = i < recvs.size();
    if (!recv_left || (send_left && sends[i] < recvs[i])) {
      return unmatched(schedules, matching, sends[i]);
    }
    if (!send_left || recvs[i] < sends[i]) return unmatched(schedules, matching, recvs[i]);
    matching.partner[sends[i].step] = recvs[i].step;
    matching.partner[recvs[i].step] = sends[i].step;
  }
  return std::nullopt;
}

}  // namespace commtune
