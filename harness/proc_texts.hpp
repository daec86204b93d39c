#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace commtune {

/// "model name" of the text of /proc/cpuinfo, empty when it has none.
std::string processor_model(std::string_view cpuinfo);

/// Processor time since boot in clock ticks, from the text of /proc/stat; zeros when unreadable.
struct ProcessorTime {
  std::uint64_t steal = 0, total = 0;
};
ProcessorTime parse_processor_time(std::string_view proc_stat);

}  // namespace commtune
