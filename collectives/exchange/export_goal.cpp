#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "collectives/exchange/export_formats.hpp"
#include "collectives/schedule/layout.hpp"
#include "collectives/schedule/matching.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

std::uint32_t blocks_of_part(const Schedule& schedule, Collective collective, std::size_t ranks) {
  const auto size = static_cast<std::uint32_t>(ranks);
  if (!parted(collective)) return schedule.space.blocks;
  return collective == Collective::alltoall ? schedule.space.blocks / size / size
                                            : schedule.space.blocks / size;
}

/// One rank's program. Steps that travel in one message are one statement.
class GoalRank {
 public:
  GoalRank(const Schedule& schedule, const Layout& layout, const GoalCosts& costs)
      : schedule_(schedule), layout_(layout), costs_(costs), label_(schedule.steps.size()) {
    for (StepId i = static_cast<StepId>(label_.size()); i-- > 0;) {
      label_[i] = schedule.steps[i].joined ? label_[i + 1] : i;
    }
  }

  /// `tags` counts the messages of each pair, [peer * 2 + receives].
  std::string text(std::vector<std::uint32_t>& tags) const {
    std::string text;
    auto out = std::back_inserter(text);
    std::uint64_t bytes = 0;
    for (StepId i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      bytes += layout_.elements(step.first, step.count);
      if (step.joined) continue;
      statement(out, i, step, bytes, tags);
      bytes = 0;
    }
    requirements(out);
    return text;
  }

 private:
  using Out = std::back_insert_iterator<std::string>;

  void statement(Out out, StepId id, const Step& step, std::uint64_t bytes,
                 std::vector<std::uint32_t>& tags) const {
    const std::uint64_t sent = std::max<std::uint64_t>(bytes, 1);
    const auto peer = static_cast<std::size_t>(std::max(step.peer, 0));
    switch (step.kind) {
      case StepKind::send:
        fmt::format_to(out, "  l{}: send {}b to {} tag {}\n", id, sent, step.peer,
                       tags[2 * peer]++);
        return;
      case StepKind::recv:
        fmt::format_to(out, "  l{}: recv {}b from {} tag {}\n", id, sent, step.peer,
                       tags[2 * peer + 1]++);
        return;
      case StepKind::copy:
        fmt::format_to(out, "  l{}: calc {}\n", id, duration(bytes, costs_.copy_ns_per_byte));
        return;
      case StepKind::reduce:
        fmt::format_to(out, "  l{}: calc {}\n", id, duration(bytes, costs_.reduce_ns_per_byte));
        return;
    }
  }

  static std::uint64_t duration(std::uint64_t bytes, double ns_per_byte) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * ns_per_byte));
  }

  void requirements(Out out) const {
    std::vector<std::pair<StepId, StepId>> edges;
    for (StepId from = 0; from < schedule_.steps.size(); ++from) {
      for (const StepId to : schedule_.successors_of(from)) {
        if (label_[from] != label_[to]) edges.emplace_back(label_[to], label_[from]);
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [later, earlier] : edges) {
      fmt::format_to(out, "  l{} requires l{}\n", later, earlier);
    }
  }

  const Schedule& schedule_;
  const Layout& layout_;
  const GoalCosts& costs_;
  std::vector<StepId> label_;
};

}  // namespace

std::string to_goal(const std::vector<Schedule>& schedules, Collective collective,
                    const GoalCosts& costs) {
  Matching matching;
  if (const auto violation = match_messages(schedules, matching)) {
    fail(Errc::usage, "export: {}", violation->detail);
  }
  const std::uint64_t bytes = collective == Collective::barrier ? 0 : costs.part_bytes;
  std::string text = fmt::format("num_ranks {}\n", schedules.size());
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const Layout layout(blocks_of_part(schedules[r], collective, schedules.size()),
                        Counts{bytes, {}}, 0, bytes);
    std::vector<std::uint32_t> tags(2 * schedules.size());
    text += fmt::format("rank {} {{\n{}}}\n", r, GoalRank(schedules[r], layout, costs).text(tags));
  }
  return text;
}

}  // namespace commtune
