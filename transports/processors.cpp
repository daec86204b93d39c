#include "transports/processors.hpp"

#include <memory>
#include <sched.h>

namespace commtune {

std::vector<int> usable_processors() {
  constexpr int most = 1 << 16;
  std::vector<int> indices;
  for (int limit = 1024; limit <= most; limit *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(limit));
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<std::size_t>(limit)), [](cpu_set_t* p) { CPU_FREE(p); });
    if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    for (int i = 0; i < limit; ++i) {
      if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set.get())) indices.push_back(i);
    }
    break;
  }
  if (indices.empty()) indices.push_back(0);
  return indices;
}

}  // namespace commtune
