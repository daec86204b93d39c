#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// One bar of a timeline, on the clock of the rank that recorded it.
struct TimelineEvent {
  std::string name;
  std::string category;  ///< "step", "compute", "communication", "wait"
  std::uint32_t thread = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t bytes = 0;  ///< of communication
  std::string algorithm;    ///< of communication
  std::uint64_t step = 0;
};

/// Writes a timeline in the array form of the Chrome trace format: process = rank, thread 0 =
/// compute, thread 1 and up = collectives in flight. Every rank appends whole lines with one
/// write(2), so the file loads in viewers at any moment, even after a kill; close() makes it strict
/// JSON. Parents come before children that begin at the same time.
class TimelineWriter {
 public:
  /// On one rank, before any other opens the file. Replaces what is there.
  static void create(const std::filesystem::path&);

  /// `zero_ns`: the moment that becomes 0 in the file, on this rank's clock.
  TimelineWriter(const std::filesystem::path&, Rank rank, std::int64_t zero_ns,
                 std::uint32_t communication_threads);
  ~TimelineWriter();
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;

  void append(std::vector<TimelineEvent> events);

  /// On one rank, after all others have finished appending.
  void close_array();

 private:
  void write_text(const std::string&);

  std::string path_;
  int file_ = -1;
  Rank rank_;
  std::int64_t zero_ns_;
};

}  // namespace commtune
