#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dnn_proxy/conservation.hpp"
#include "dnn_proxy/importers/busy.hpp"
#include "dnn_proxy/importers/names.hpp"

namespace commtune {

using ThreadId = std::uint32_t;  ///< interned thread name

/// One communication call as the CPU side recorded it.
struct CommRecord {
  std::uint64_t event = 0;  ///< position in the file
  RecordName what;
  ThreadId thread = 0;
  std::int64_t begin_ns = 0, duration_ns = 0;
  std::uint64_t in_count = 0, out_count = 0;
  DataType dtype = DataType::float32;
  std::uint32_t group = 0;                  ///< index into KinetoEvents::groups
  std::optional<std::uint64_t> group_size;  ///< as the record says
  std::optional<bool> async;
  std::optional<Rank> peer;  ///< global rank, of send and recv
  std::vector<std::uint64_t> send_splits, recv_splits;
};

/// A kernel, copy or fill on the device.
struct DeviceEvent {
  std::uint64_t event = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t correlation = -1;
  std::pair<std::int64_t, std::int64_t> stream;  ///< device and stream
  bool communication = false;
};

struct Launch {
  ThreadId thread = 0;
  std::int64_t begin_ns = 0;
};

struct StepSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t number = 0;
};
struct PhaseSpan {
  Mark mark = Mark::forward;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool ddp_forward = false;
};

/// What an import needs of one rank's trace.
struct KinetoEvents {
  std::string path;
  std::optional<Rank> rank, world;
  std::vector<Group> groups;  ///< ranks still empty where the trace does not tell
  std::vector<CommRecord> records;
  std::vector<std::string> empty_groups;  ///< in the list of groups, without a rank, unused
  std::string sizes_from;                 ///< "record_param_comms" or "annotations"
  std::uint64_t bare_records = 0;         ///< record_param_comms without arguments
  std::map<CommKind, Tally> counted;      ///< transfers, counted as they were read
  std::uint64_t init_records = 0;
  std::vector<DeviceEvent> device;
  std::unordered_map<std::int64_t, Launch> launches;  ///< by correlation
  std::vector<Interval> cpu;                          ///< operators on the CPU
  std::vector<StepSpan> steps;
  std::vector<PhaseSpan> phases;
  std::int64_t first_ns = 0, last_ns = 0;
  bool inexact_types = false;  ///< an eight-bit float became uint8
  bool legacy = false;         ///< bare array of the profiler without Kineto
};

/// Streams one trace file. Throws Error(usage) on damage, on a collective whose name or element
/// type is unknown (naming each with count and bytes) and on missing sizes.
KinetoEvents read_kineto(const std::filesystem::path&);

}  // namespace commtune
