#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/types.hpp"

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

/// Reads a hook file, those of the other ranks beside it and the commevents files if there are any.
/// Throws Error(usage) naming the file that is missing or wrong.
CapturedRun read_captured_run(const std::filesystem::path& hook_file);

}  // namespace commtune
