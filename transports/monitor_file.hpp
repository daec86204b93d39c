#pragma once
#include <span>
#include <string>

#include "core/descriptor.hpp"
#include "transports/monitor.hpp"

namespace commtune {

/// Monitor slots in memory without a name in any folder, for ranks that are not descendants sharing
/// ours: gone with the last process that has it, however those end. The process that starts a
/// launcher creates it; ranks of the same host open it by the address in COMMTUNE_MONITOR.
class MonitorFile {
 public:
  static constexpr const char* variable = "COMMTUNE_MONITOR";
  /// Creates `ranks` slots. Throws Error(system).
  explicit MonitorFile(int ranks);
  /// Opens those of another process; slots() is empty when they are not there (another host, an
  /// ended process) or are not `ranks` slots.
  MonitorFile(const std::string& address, int ranks) noexcept;
  ~MonitorFile();
  MonitorFile(const MonitorFile&) = delete;
  MonitorFile& operator=(const MonitorFile&) = delete;
  std::span<MonitorSlot> slots() const noexcept { return slots_; }
  /// "PID:DESCRIPTOR:NAME" of the process that created it; valid while that lives.
  const std::string& address() const noexcept { return address_; }

 private:
  bool map(int fd, int ranks) noexcept;

  Descriptor file_;
  std::string address_;
  std::span<MonitorSlot> slots_;
};

}  // namespace commtune
