#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// One bar of a timeline, on the clock of the rank that recorded it.
struct TimelineEvent {
  std::string name;
  std::string category;  ///< "step", "compute", "communication", "wait", "sample"
  std::uint32_t thread = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t bytes = 0;   ///< of communication and samples
  std::string algorithm;     ///< of communication and samples
  std::uint64_t number = 0;  ///< of the training step, or of the sample in its row
};

/// Writes a timeline in the array form of the Chrome trace format: process = rank, threads as
/// named. Every rank appends whole lines with one
/// write(2), so the file loads in viewers at any moment, even after a kill; close() makes it strict
/// JSON. Parents come before children that begin at the same time.
class TimelineWriter {
 public:
  /// On one rank, before any other opens the file. Replaces what is there.
  static void create(const std::filesystem::path&);

  /// `zero_ns`: the moment that becomes 0 in the file, on this rank's clock. `threads` are names,
  /// thread 0 first.
  TimelineWriter(const std::filesystem::path&, Rank rank, std::int64_t zero_ns,
                 std::vector<std::string> threads);
  ~TimelineWriter();
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;

  void append(std::vector<TimelineEvent> events) { append(rank_, std::move(events)); }

  /// For a rank that writes for others: announces another rank; bars of it, on this rank's clock.
  void add_rank(Rank);
  void append(Rank, std::vector<TimelineEvent> events);

  /// A remark that viewers ignore and readers of the file find.
  void note(const std::string& text);

  /// On one rank, after all others have finished appending.
  void close_array();

 private:
  void write_text(const std::string&);

  std::string path_;
  int file_ = -1;
  Rank rank_;
  std::int64_t zero_ns_;
  std::vector<std::string> threads_;
};

}  // namespace commtune
