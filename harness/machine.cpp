#include <algorithm>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "harness/machine_probe.hpp"
#include "harness/measure.hpp"
#include "harness/proc_texts.hpp"

namespace commtune {
namespace {

constexpr std::size_t copy_bytes = std::size_t{8} << 20;
constexpr double changed_factor = 1.5;

ProcessorTime processor_time() {
  std::string line;
  std::ifstream file("/proc/stat");
  std::getline(file, line);
  return parse_processor_time(line);
}

void flag_change(Row& row) {
  const auto& [before, after] = row.machine.c2c_ns;
  if (!before || !after || *before <= 0 || *after <= 0) return;
  const auto [low, high] = std::minmax(*before, *after);
  if (high > changed_factor * low) row.flags.emplace_back("state_changed");
}

}  // namespace

MachineProbe::MachineProbe(Job& job) : job_(job) {
  if (job.rank() != 0 || job.transport.capabilities().simulated_time) return;
  copy_from_.assign(copy_bytes, std::byte{1});
  copy_to_.assign(copy_bytes, std::byte{2});
}

void MachineProbe::sample(Row& row, int which) {
  require(which == 0 || which == 1, "machine state: element {} is neither 0 nor 1", which);
  if (job_.transport.capabilities().simulated_time) return;
  job_.bootstrap.barrier();
  if (job_.rank() == 0) {
    row.machine.c2c_ns[which] = core_to_core_ns();
    row.machine.copy_gbs[which] = copy_gbs(copy_from_, copy_to_);
    std::ifstream("/proc/loadavg") >> row.machine.load;
    const ProcessorTime now = processor_time();
    if (which == 0) {
      steal_ = now.steal;
      total_ = now.total;
    } else {
      const std::uint64_t ticks = now.total > total_ ? now.total - total_ : 0;
      const std::uint64_t stolen = now.steal > steal_ ? now.steal - steal_ : 0;
      row.machine.steal = ticks == 0 ? 0 : static_cast<double>(stolen) / static_cast<double>(ticks);
      flag_change(row);
    }
  }
  job_.bootstrap.barrier();
}

}  // namespace commtune
