#include "dnn_proxy/conservation.hpp"

#include "core/error.hpp"

namespace commtune {

TallyTable tally(const Workload& workload) {
  TallyTable table;
  for (std::size_t i = 0; i < workload.programs.size(); ++i) {
    for (const WorkloadOp& op : workload.programs[i]) {
      if (op.op != WorkloadOpKind::collective && op.op != WorkloadOpKind::p2p) continue;
      Tally& entry = table[{workload.ranks[i], op.kind}];
      const bool parts = op.kind == CommKind::reduce_scatter || op.kind == CommKind::scatter;
      entry.operations += 1;
      const std::string what = fmt::format("{}: bytes of {} on rank {}", workload.source,
                                           describe(op), workload.ranks[i]);
      const std::uint64_t bytes =
          checked_product(bytes_of(op), parts ? workload.groups[op.group].ranks.size() : 1, what);
      entry.bytes = checked_sum(entry.bytes, bytes, what);
    }
  }
  return table;
}

bool ConservationReport::conserved() const noexcept {
  for (const ConservationRow& row : rows)
    if (row.in != row.out) return false;
  return true;
}

std::string ConservationReport::text() const {
  std::string text = fmt::format("{:>6}  {:<14}  {:>14}  {:>14}  {:>20}  {:>20}\n", "rank", "kind",
                                 "operations in", "operations out", "bytes in", "bytes out");
  for (const ConservationRow& row : rows) {
    text += fmt::format("{:>6}  {:<14}  {:>14}  {:>14}  {:>20}  {:>20}{}\n", row.rank,
                        name(row.kind), with_thousands(row.in.operations),
                        with_thousands(row.out.operations), with_thousands(row.in.bytes),
                        with_thousands(row.out.bytes), row.in == row.out ? "" : "  DIFFERS");
  }
  return text;
}

ConservationReport conserve(const TallyTable& in, const Workload& out) {
  const TallyTable after = tally(out);
  TallyTable keys = in;
  keys.insert(after.begin(), after.end());
  ConservationReport report;
  for (const auto& [key, unused] : keys) {
    ConservationRow row{key.first, key.second, {}, {}};
    if (const auto at = in.find(key); at != in.end()) row.in = at->second;
    if (const auto at = after.find(key); at != after.end()) row.out = at->second;
    report.rows.push_back(row);
  }
  if (!report.conserved())
    fail(Errc::wrong_result, "{}: the import does not conserve its operations:\n{}", out.source,
         report.text());
  return report;
}

}  // namespace commtune
