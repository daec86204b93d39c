#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace commtune {

/// What bounds the number of ranks on this host; nothing where there is no bound or it cannot be
/// read.
struct HostLimits {
  std::uint64_t open_files = 0;  ///< descriptors of one process
  std::optional<std::uint64_t> shared_memory_bytes, shared_memory_free_bytes;  ///< /dev/shm
  std::optional<std::uint64_t> processes;  ///< that may still be started
  std::string processes_from;              ///< which limit that is
};
HostLimits host_limits();

}  // namespace commtune
