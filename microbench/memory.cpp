#include "microbench/memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <new>
#include <optional>

#include "core/error.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

std::optional<std::uint64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // "max" counts as no limit
}

std::optional<std::uint64_t> kernel_estimate() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kib = 0;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t available_memory() {
  std::uint64_t available = kernel_estimate().value_or(0);
  const auto limit = read_number("/sys/fs/cgroup/memory.max");
  const auto used = read_number("/sys/fs/cgroup/memory.current");
  if (limit && used) {
    const std::uint64_t rest = *limit > *used ? *limit - *used : 0;
    available = available == 0 ? rest : std::min(available, rest);
  }
  return available;
}

std::string memory_shortage(Job& job, std::uint64_t bytes, int ranks_on_node) {
  struct Need {
    std::uint64_t available, bytes;
  };
  const auto all = allgather_value(job.bootstrap, Need{available_memory(), bytes});
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto [available, needed] = all[rank];
    const std::uint64_t allowed = available / 5 * 4 / static_cast<std::uint64_t>(ranks_on_node);
    if (available != 0 && needed > allowed) {
      return fmt::format(
          "memory: rank {} needs {} bytes, {} are free for it ({} ranks on its node)", rank, needed,
          allowed, ranks_on_node);
    }
  }
  return {};
}

std::string first_problem(Job& job, const std::function<void()>& prepare) {
  std::string problem;
  try {
    prepare();
  } catch (const Error& error) {
    if (error.code() == Errc::peer) throw;
    problem = error.what();
  } catch (const std::bad_alloc&) {
    problem = "out of memory";
  }
  const auto problems = allgather_string(job.bootstrap, problem);
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (!problems[rank].empty()) return fmt::format("rank {}: {}", rank, problems[rank]);
  }
  return {};
}

}  // namespace commtune
