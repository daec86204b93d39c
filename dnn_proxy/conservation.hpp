#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dnn_proxy/workload.hpp"

namespace commtune {

/// What was moved: operations, and the bytes of the calling rank's input.
struct Tally {
  std::uint64_t operations = 0, bytes = 0;
  bool operator==(const Tally&) const = default;
};
/// By (rank, kind). An importer counts its input here while reading, before it builds operations.
using TallyTable = std::map<std::pair<Rank, CommKind>, Tally>;

/// Counts the operations of a workload by the same rule.
TallyTable tally(const Workload&);

struct ConservationRow {
  Rank rank = 0;
  CommKind kind = CommKind::allreduce;
  Tally in, out;
};
struct ConservationReport {
  std::vector<ConservationRow> rows;
  bool conserved() const noexcept;
  /// One line per rank and kind: operations and bytes, in and out.
  std::string text() const;
};

/// Compares. Throws Error(wrong_result), naming every rank and kind that differs, unless all that
/// came in went out.
ConservationReport conserve(const TallyTable& in, const Workload& out);

}  // namespace commtune
