#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/types.hpp"
#include "dnn_proxy/importers/importer.hpp"

namespace commtune {

struct CapturedBucket {
  std::uint64_t count = 0;  ///< float32 elements
  std::int64_t launch_ns = 0;
};

/// The stamps of one training step, nanoseconds on one clock of all ranks.
struct CapturedStep {
  std::uint64_t number = 0;
  std::int64_t begin_ns = 0, zero_ns = 0, forward_ns = 0, last_ready_ns = 0, backward_ns = 0,
               optimizer_ns = 0;  ///< ends of the phases; last_ready: the last gradient
  std::vector<CapturedBucket> buckets;
};

struct CapturedBroadcast {
  std::uint64_t count = 0;
  DataType dtype = DataType::float32;
};

struct CapturedRank {
  std::vector<CapturedStep> steps;
  std::int64_t forward_ns = 0, backward_ns = 0;  ///< medians of no_sync passes; 0: not measured
  bool has_comm_events = false;
  bool barrier_before_step = false;
  std::vector<CapturedBroadcast> broadcasts;  ///< of module buffers, in every forward pass
  std::int64_t copy_back_ns = 0;              ///< copies of buckets into gradients, per step
};

struct CapturedRun {
  std::string model, source;
  std::vector<CapturedRank> ranks;
};

/// True for `<model>.hook.rank<r>[...].json[.gz]`.
bool is_hook_file(const std::filesystem::path&);

/// The contents of one rank's hook file and, if there is one, its commevents file. Throws
/// Error(usage) that starts with `where` or `events_where`.
CapturedRank captured_rank(const Json& hook, std::uint64_t number, const std::string& where,
                           const Json* comm_events = nullptr, const std::string& events_where = {});

/// Reads a hook file, those of the other ranks beside it and the commevents files if there are any.
/// Throws Error(usage) naming the file that is missing or wrong.
CapturedRun read_captured_run(const std::filesystem::path& hook_file);

/// The workload of a run; `where` starts every error.
Import import_captured_run(const CapturedRun&, const std::string& where);

}  // namespace commtune
