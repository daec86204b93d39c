// Texts of the kernel: /proc/cpuinfo, /proc/stat, /proc/PID/stat.
#include "fuzz.hpp"
#include "harness/proc_texts.hpp"
#include "transports/watchdog.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::expect(processor_model(text).find('\n') == std::string::npos, "a model is one line");
  const ProcessorTime time = parse_processor_time(text);
  fuzz::expect(time.steal <= time.total, "stolen time is part of the total");
  halted_by_stat(text);
  return 0;
}
