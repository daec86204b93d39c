#include "harness/proc_texts.hpp"

#include <sstream>

namespace commtune {

std::string processor_model(std::string_view cpuinfo) {
  const std::size_t key = cpuinfo.find("model name");
  if (key == std::string_view::npos) return {};
  const std::size_t colon = cpuinfo.find(": ", key);
  const std::size_t end = cpuinfo.find('\n', key);
  if (colon == std::string_view::npos || colon > end) return {};
  return std::string(
      cpuinfo.substr(colon + 2, end == std::string_view::npos ? end : end - colon - 2));
}

ProcessorTime parse_processor_time(std::string_view proc_stat) {
  std::istringstream line{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
  std::string label;
  line >> label;
  ProcessorTime time;
  if (label != "cpu") return time;
  // user nice system idle iowait irq softirq steal; guest times that follow are part of user.
  for (int field = 0; field < 8; ++field) {
    std::uint64_t ticks = 0;
    if (!(line >> ticks)) return {};
    if (__builtin_add_overflow(time.total, ticks, &time.total)) return {};
    if (field == 7) time.steal = ticks;
  }
  return time;
}

}  // namespace commtune
