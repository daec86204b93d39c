#include "devices/host/work_rates.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/clock.hpp"
#include "devices/host/reduce.hpp"

namespace commtune {
namespace {

static_assert(static_cast<std::size_t>(DataType::float8_e5m2) + 1 == WorkRates::types);
static_assert(static_cast<std::size_t>(ReduceOp::avg) + 1 == WorkRates::ops);

constexpr std::size_t bytes = std::size_t{64} << 10;
constexpr int rounds = 5;

template <class Work>
double best_ns_per_byte(const Work& work) {
  auto best = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t begin = monotonic_ns();
    work();
    best = std::min(best, monotonic_ns() - begin);
  }
  return static_cast<double>(best) / static_cast<double>(bytes);
}

}  // namespace

WorkRates measure_work_rates() {
  // Zeros are ordinary numbers of every type.
  const std::vector<std::byte> a(bytes), b(bytes);
  std::vector<std::byte> into(bytes);
  WorkRates rates;
  const CopyKernel copy = copy_kernel(Stores::cached);
  rates.copy_ns = best_ns_per_byte([&] { copy(a.data(), into.data(), bytes); });
  for (std::size_t type = 0; type < WorkRates::types; ++type) {
    for (std::size_t op = 0; op < WorkRates::ops; ++op) {
      const auto data_type = static_cast<DataType>(type);
      const ReduceKernel reduce = reduce_kernel(data_type, static_cast<ReduceOp>(op));
      const std::size_t count = bytes / size_of(data_type);
      rates.reduce_ns[type][op] =
          best_ns_per_byte([&] { reduce(a.data(), b.data(), into.data(), count); });
    }
  }
  return rates;
}

}  // namespace commtune
