#pragma once
#include <cstddef>
#include <sys/types.h>

namespace commtune::local {

/// Lets the processes started by this process's parent read this process's memory, where the
/// kernel restricts that to tracers.
void permit_reads_by_siblings() noexcept;

/// Copies `bytes` at `from` in the process `owner`. Returns 0 or an errno value.
int read_remote(pid_t owner, std::byte* into, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace commtune::local
