#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// Everything that traces of distributed training move between ranks. A superset of Collective: an
/// import keeps kinds that no executor of this build can run, a replay refuses them.
enum class CommKind : std::uint8_t {
  allreduce,
  broadcast,
  allgather,
  reduce_scatter,
  barrier,
  all_to_all,
  reduce,
  gather,
  scatter,
  send,
  recv
};
std::span<const CommKind> all_comm_kinds() noexcept;
std::string_view name(CommKind) noexcept;
/// Exact names only; throws Error(usage) that starts with `what` and lists the names.
CommKind parse_comm_kind(std::string_view text, std::string_view what);
/// The executor's name for it, if this build can run it.
std::optional<Collective> as_collective(CommKind) noexcept;
constexpr bool point_to_point(CommKind kind) noexcept {
  return kind == CommKind::send || kind == CommKind::recv;
}

enum class Mark : std::uint8_t { step_begin, step_end, forward, backward, optimizer };
std::string_view name(Mark) noexcept;
Mark parse_mark(std::string_view text, std::string_view what);

enum class WorkloadOpKind : std::uint8_t { compute, collective, p2p, wait, mark };
std::string_view name(WorkloadOpKind) noexcept;
WorkloadOpKind parse_workload_op_kind(std::string_view text, std::string_view what);

/// One operation of one rank. Which members count depends on `op`.
struct WorkloadOp {
  WorkloadOpKind op = WorkloadOpKind::compute;
  // compute: busy time, and idle time of the recording that is neither compute nor communication
  std::int64_t duration_ns = 0;
  std::int64_t gap_ns = 0;
  std::uint64_t flops = 0;  ///< instead of a duration: work, at whatever speed this host has
  std::vector<std::uint64_t> shape;  ///< extents of that work, for the reader
  // collective, p2p. `count` is in elements: the vector of allreduce, broadcast and reduce; what
  // one rank contributes to allgather and gather; what one rank receives of reduce_scatter and
  // scatter; everything a rank sends in all_to_all; the message of send and recv
  CommKind kind = CommKind::allreduce;
  std::uint64_t count = 0;
  DataType dtype = DataType::float32;
  Rank root = 0;            ///< root, or the peer of send and recv; rank in the group
  std::uint32_t group = 0;  ///< index into Workload::groups
  std::vector<std::uint64_t> send_splits, recv_splits;  ///< all_to_all with uneven parts
  /// collective: identity of an operation that a later wait completes; wait: the operation waited
  /// for. Unset: synchronous.
  std::optional<std::uint64_t> async_id;
  // mark
  Mark mark = Mark::step_begin;
  std::uint64_t step = 0;        ///< number of the step in the recording
  std::int64_t recorded_ns = 0;  ///< step_end: duration of the recorded step; 0 = unknown

  bool operator==(const WorkloadOp&) const = default;
};
/// count * element size; count must not exceed max_elements.
std::uint64_t bytes_of(const WorkloadOp&) noexcept;
/// More elements than any operation may have.
inline constexpr std::uint64_t max_elements = 1ULL << 50;
/// Arithmetic that throws Error(usage) "<what>: a x b ..." instead of wrapping around.
std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::string_view what);
std::uint64_t checked_sum(std::uint64_t a, std::uint64_t b, std::string_view what);
std::uint64_t checked_sum(const std::vector<std::uint64_t>& values, std::string_view what);
/// Whether one rank of the group has a part of its own: the others send to it or receive from it.
bool rooted(CommKind) noexcept;

struct Group {
  std::string name;
  std::vector<Rank> ranks;
  bool operator==(const Group&) const = default;
};

/// What can be relied on.
struct Exactness {
  bool has_time = false;                 ///< compute durations come from the recording
  bool has_gap = false;                  ///< idle time of the recording is kept
  bool has_align = false;                ///< ranks were recorded on one clock
  std::string sizes_from = "unknown";    ///< where element counts come from
  std::string compute_from = "unknown";  ///< where compute durations come from
  bool operator==(const Exactness&) const = default;
};

/// `commtune.workload/1` in memory. program[i] belongs to recorded rank ranks[i].
struct Workload {
  std::string format;  ///< importer that made it
  std::string source;  ///< file name it came from, without folders
  Rank world = 1;      ///< ranks in the recorded job
  std::vector<Rank> ranks;
  std::vector<Group> groups;
  Exactness exactness;
  std::vector<std::string> notes;  ///< rules applied and things absent, for the reader
  std::vector<std::vector<WorkloadOp>> programs;
  bool operator==(const Workload&) const = default;
};

/// Steps of a program: the number of its step_begin marks.
std::uint64_t count_steps(const std::vector<WorkloadOp>& program) noexcept;

/// Throws Error(usage), naming `where`, rank and operation, unless the programs make sense: steps
/// open and close in turn, async identities are started once and waited for once, groups and roots
/// exist, splits cover their operation.
void validate(const Workload&, std::string_view where);

/// The first `steps` recorded steps after skipping `skip`, with what lies before each step; every
/// rank alike. Throws Error(usage) when there are not enough.
Workload select_steps(const Workload&, std::uint64_t skip, std::uint64_t steps);

/// Throws Error(usage), naming the operation and both ranks' values, unless all recorded ranks of a
/// group do the same collectives in it, in the same order.
void check_ranks_agree(const Workload&);

/// Reads a workload file, plain or gzip. Strict: an unknown key, name or inconsistent size throws
/// Error(usage) with the line and its byte offset.
Workload read_workload(const std::filesystem::path&);
/// Writes to a temporary file beside `path` and renames it.
void write_workload(const std::filesystem::path&, const Workload&);
/// The same text in memory; the inverse of parse_workload.
std::string format_workload(const Workload&);
Workload parse_workload(std::istream&, const std::string& source);

/// "broadcast 53,120 float32".
std::string describe(const WorkloadOp&);
/// 53120 -> "53,120".
std::string with_thousands(std::uint64_t value);

}  // namespace commtune
