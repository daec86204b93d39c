#include "transports/monitor.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace commtune {

namespace {

template <std::size_t N>
void store(char (&into)[N], std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), N - 1);
  if (length > 0) std::memcpy(into, text.data(), length);
  into[length] = '\0';
}

}  // namespace

std::string_view name(Phase phase) noexcept {
  switch (phase) {
    case Phase::unseen:
      return "unseen";
    case Phase::start:
      return "start";
    case Phase::setup:
      return "setup";
    case Phase::warmup:
      return "warmup";
    case Phase::timed:
      return "timed";
    case Phase::check:
      return "check";
    case Phase::idle:
      return "idle";
    case Phase::done:
      return "done";
    case Phase::failed:
      return "failed";
    case Phase::terminated:
      return "terminated";
  }
  return "unknown";
}

void MonitorSlot::enter(Phase next) noexcept {
  phase.store(next, std::memory_order_relaxed);
  beat(0);
}

void MonitorSlot::describe(std::string_view text, std::uint64_t row_bytes) noexcept {
  store(operation, text);
  bytes.store(row_bytes, std::memory_order_relaxed);
  beat(0);
}

void MonitorSlot::fail(std::string_view why) noexcept {
  store(message, why);
  failed_in.store(phase.load(std::memory_order_relaxed), std::memory_order_relaxed);
  phase.store(Phase::failed, std::memory_order_release);
}

std::string MonitorSlot::where() const {
  Phase at = phase.load(std::memory_order_relaxed);
  if (at == Phase::failed || at == Phase::terminated)
    at = failed_in.load(std::memory_order_relaxed);
  const std::string doing(operation, strnlen(operation, sizeof(operation)));
  if (doing.empty()) return fmt::format("phase {}", name(at));
  return fmt::format("{} iteration {} of {}, {} bytes", name(at),
                     iteration.load(std::memory_order_relaxed), doing,
                     bytes.load(std::memory_order_relaxed));
}

}  // namespace commtune
