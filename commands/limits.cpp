#include "commands/limits.hpp"

#include <fstream>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace commtune {
namespace {

std::optional<std::uint64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

void lower(HostLimits& limits, std::optional<std::uint64_t> processes, const char* from) {
  if (!processes || (limits.processes && *limits.processes <= *processes)) return;
  limits.processes = processes;
  limits.processes_from = from;
}

std::optional<std::uint64_t> left_in_control_group() {
  const auto most = read_number("/sys/fs/cgroup/pids.max");
  const auto used = read_number("/sys/fs/cgroup/pids.current");
  if (!most || !used) return std::nullopt;
  return *most > *used ? *most - *used : 0;
}

std::optional<std::uint64_t> soft_limit(decltype(RLIMIT_NPROC) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

HostLimits host_limits() {
  HostLimits limits;
  limits.open_files = soft_limit(RLIMIT_NOFILE).value_or(0);
  struct statvfs space {};
  if (statvfs("/dev/shm", &space) == 0) {
    limits.shared_memory_bytes = space.f_blocks * space.f_frsize;
    limits.shared_memory_free_bytes = space.f_bavail * space.f_frsize;
  }
  lower(limits, read_number("/proc/sys/kernel/pid_max"), "kernel.pid_max");
  lower(limits, read_number("/proc/sys/kernel/threads-max"), "kernel.threads-max");
  lower(limits, left_in_control_group(), "pids limit of the control group");
  if (geteuid() != 0) lower(limits, soft_limit(RLIMIT_NPROC), "ulimit -u");
  return limits;
}

}  // namespace commtune
