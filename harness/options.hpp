#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// Where a benchmark's buffers come from: the transport's own memory, which it moves fastest, or
/// ordinary memory as programs have it.
enum class BufferKind : std::uint8_t { registered, private_memory };
constexpr std::string_view name(BufferKind kind) noexcept {
  return kind == BufferKind::registered ? "registered" : "private";
}

struct SamplingOptions {
  std::optional<std::uint64_t> iterations;  ///< exactly this many; unset: adaptive
  std::optional<std::uint64_t> warmup;      ///< unset: until 3 calls and 10 ms
  double time_limit_s = 2;                  ///< per row, adaptive runs stop here
  double confidence = 0.95;
  double precision = 0.02;  ///< relative half-width of the median's interval
};

/// The options shared by bench, replay and tune, exactly as typed (`interface`: docs/measuring.md).
struct RunOptions {
  int ranks = 2;
  std::string launcher;
  std::string transport;  ///< empty: `mpi` under an MPI launcher, else `shm`
  std::string mpi;
  std::string bind;      ///< empty: one processor each while there are enough, or the launcher's
  std::string platform;  ///< of the transport sim
  std::string device = "host";
  std::vector<std::string> algorithms = {"auto"};
  std::vector<std::uint64_t> sizes;  ///< empty: per test
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  bool rotate_root = false;
  bool in_place = false;
  SamplingOptions sampling;
  std::uint64_t check = 1;
  bool cold = false;
  int servers = 1;            ///< of the test ps
  bool asynchronous = false;  ///< of the test ps: its servers apply each push at once
  std::vector<BufferKind> buffers = {BufferKind::registered};  ///< a row for each
  std::string format = "table";                                ///< table, osu, csv, json
  std::filesystem::path output, samples, table;
  double timeout_s = 60;
  std::uint64_t seed = 1;
  std::string label;
  std::vector<std::string> argv;      ///< the whole command line
  std::vector<std::string> warnings;  ///< about these options; stored as run.warnings
};

}  // namespace commtune
