#pragma once
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/measure.hpp"
#include "harness/record.hpp"
#include "harness/timeline.hpp"

namespace commtune {

/// The file of `--samples`: a JSON line for each row that has samples.
class SampleFile {
 public:
  /// Replaces what is there. Throws Error(system) naming the path, as add() does.
  explicit SampleFile(const std::filesystem::path&);
  /// No-op for a series without samples.
  void add(const Row&, const Series&);

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

/// The file of `--timeline`: a bar from entry to exit for each rank and kept iteration of a
/// collective, the first Series::stamp_limit of a row, on rank 0's clock. Every rank holds one;
/// rank 0 writes.
class IterationTimeline {
 public:
  /// Now becomes the moment 0 of the file.
  IterationTimeline(Job&, const std::filesystem::path&);
  /// Collective. No-op for a series without stamps.
  void add(const Row&, const Series&);
  /// Makes the file strict JSON.
  void close();

 private:
  Job& job_;
  std::unique_ptr<TimelineWriter> writer_;  ///< rank 0 only
};

}  // namespace commtune
