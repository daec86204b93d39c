#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "transports/monitor.hpp"

namespace commtune {

/// A thread inside a rank that ends the process when the rank makes no progress, misses a deadline,
/// or was told to end (Phase::terminated). The launcher then takes the other ranks down.
class RankGuard {
 public:
  /// `timeout_s` 0: only deadlines. A rank in Phase::idle waits for others and is left alone.
  /// `lost` is called with the reason before the process ends; it may be empty.
  RankGuard(const MonitorSlot& slot, int rank, double timeout_s,
            std::function<void(const std::string&)> lost);
  ~RankGuard();
  RankGuard(const RankGuard&) = delete;
  RankGuard& operator=(const RankGuard&) = delete;
  /// Ends the process with `status` unless disarm() comes within `seconds`; prints `message`, if
  /// any, first. A rank told to end meanwhile leaves the same way, at once, if `status` is not 0.
  void arm(double seconds, int status, std::string message);
  void disarm();

 private:
  struct Deadline {
    std::int64_t at_ns;
    int status;
    std::string message;
  };
  void watch();
  [[noreturn]] void leave(const std::string& message, int status);

  const MonitorSlot& slot_;
  int rank_;
  double timeout_s_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Deadline> deadline_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace commtune
