#include "transports/processors.hpp"

#include <array>
#include <bitset>
#include <cstring>
#include <memory>
#include <sched.h>
#include <unistd.h>

#include "transports/bootstrap.hpp"
#include "transports/placement.hpp"

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

bool ranks_are_crowded(Bootstrap& bootstrap) {
  constexpr std::size_t most_processors = 4096;
  struct Seat {
    std::array<char, 256> host;
    std::bitset<most_processors> usable;
  };
  Seat mine{};
  gethostname(mine.host.data(), mine.host.size() - 1);
  for (const int processor : usable_processors()) {
    const auto index = static_cast<std::size_t>(processor);
    if (index < most_processors) mine.usable.set(index);
  }
  std::vector<std::vector<int>> usable;
  for (const Seat& seat : allgather_value(bootstrap, mine)) {
    if (seat.host != mine.host) continue;
    std::vector<int>& own = usable.emplace_back();
    for (std::size_t index = 0; index < most_processors; ++index) {
      if (seat.usable.test(index)) own.push_back(static_cast<int>(index));
    }
  }
  return !processors_suffice(usable);
}

std::pair<int, int> place_on_host(Bootstrap& bootstrap) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::pair<int, int> place{0, 0};
  Rank rank = 0;
  for (const auto& other : allgather_value(bootstrap, host)) {
    if (other == host) {
      if (rank < bootstrap.rank()) ++place.first;
      ++place.second;
    }
    ++rank;
  }
  return place;
}

}  // namespace commtune
