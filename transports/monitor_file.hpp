#pragma once
#include <filesystem>
#include <span>

#include "transports/monitor.hpp"

namespace commtune {

/// Monitor slots in a mapped file, for ranks that are not descendants sharing our memory. The
/// process that starts a launcher creates it and removes the file in the end; ranks of the same
/// host open it by the path in COMMTUNE_MONITOR.
class MonitorFile {
 public:
  static constexpr const char* variable = "COMMTUNE_MONITOR";
  /// Creates a temporary file with `ranks` slots. Throws Error(system).
  explicit MonitorFile(int ranks);
  /// Opens an existing file; slots() is empty when it is not there or has not `ranks` slots.
  MonitorFile(const std::filesystem::path& path, int ranks) noexcept;
  ~MonitorFile();
  MonitorFile(const MonitorFile&) = delete;
  MonitorFile& operator=(const MonitorFile&) = delete;
  std::span<MonitorSlot> slots() const noexcept { return slots_; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  bool map(int fd, int ranks) noexcept;

  std::filesystem::path path_;
  bool owner_ = false;
  std::span<MonitorSlot> slots_;
};

}  // namespace commtune
