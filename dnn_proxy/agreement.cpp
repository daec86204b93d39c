#include "dnn_proxy/agreement.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace commtune {
namespace {

std::string value_at(const std::vector<CommLine>& lines, std::size_t at) {
  if (at >= lines.size()) return fmt::format("nothing more ({} operations in all)", lines.size());
  return fmt::format("\"{}\" (operation {} of its program)", lines[at].text, lines[at].operation);
}

std::vector<CommLine> collectives_in(const std::vector<WorkloadOp>& program, std::uint32_t group) {
  std::vector<CommLine> lines;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const WorkloadOp& op = program[i];
    if (op.op != WorkloadOpKind::collective || op.group != group) continue;
    // The parts of all_to_all may differ from rank to rank.
    if (op.kind == CommKind::all_to_all)
      lines.push_back({i, fmt::format("all_to_all of {}", name(op.dtype))});
    else
      lines.push_back({i, describe(op) + (rooted(op.kind) ? fmt::format(", root {}", op.root)
                                                          : std::string())});
  }
  return lines;
}

}  // namespace

void check_equal_lines(const std::vector<CommLine>& a, Rank rank_a, const std::vector<CommLine>& b,
                       Rank rank_b, std::string_view what) {
  const std::size_t most = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < most; ++i) {
    if (i < a.size() && i < b.size() && a[i].text == b[i].text) continue;
    fail(Errc::usage,
         "{}: rank {} communicates otherwise than rank {}: operation {} is {} on rank {} but {} on "
         "rank {}; the collectives of all ranks must agree",
         what, rank_b, rank_a, i, value_at(a, i), rank_a, value_at(b, i), rank_b);
  }
}

void check_ranks_agree(const Workload& workload) {
  for (std::uint32_t group = 0; group < workload.groups.size(); ++group) {
    const Group& members = workload.groups[group];
    std::vector<CommLine> first;
    std::optional<Rank> first_rank;
    for (std::size_t i = 0; i < workload.programs.size(); ++i) {
      const Rank rank = workload.ranks[i];
      if (std::find(members.ranks.begin(), members.ranks.end(), rank) == members.ranks.end())
        continue;
      auto lines = collectives_in(workload.programs[i], group);
      if (first_rank)
        check_equal_lines(first, *first_rank, lines, rank,
                          fmt::format("{}: group \"{}\"", workload.source, members.name));
      else
        first = std::move(lines), first_rank = rank;
    }
  }
}

}  // namespace commtune
