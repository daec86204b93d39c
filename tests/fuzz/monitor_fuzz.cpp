// What the watchdog reads from memory that ranks write, and the address of that memory.
#include <algorithm>
#include <cstring>

#include "fuzz.hpp"
#include "transports/monitor_file.hpp"
#include "transports/watchdog.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  static const MonitorFile own(3);
  const auto slots = std::as_writable_bytes(own.slots());
  std::fill(slots.begin(), slots.end(), std::byte{0});
  const auto bytes = fuzz::bytes_of(data, std::min(size, slots.size()));
  std::ranges::copy(bytes, slots.begin());
  const MonitorFile other(own.address(), 3);
  fuzz::expect(other.slots().size() == 3, "the slots are found by their address");
  for (MonitorSlot& slot : own.slots()) slot.pid = 0;  // no look at a process of this machine
  Watchdog watchdog(other.slots(), 60);
  watchdog.expired();
  watchdog.table();
  watchdog.reason();
  for (const MonitorSlot& slot : other.slots()) slot.where();
  const MonitorFile strange(std::string(fuzz::text_of(data, size)), 3);
  fuzz::expect(strange.slots().empty(), "no other address leads anywhere");
  return 0;
}
