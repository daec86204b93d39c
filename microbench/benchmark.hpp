#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/types.hpp"

namespace commtune {

class BenchContext;

enum class BenchmarkKind : std::uint8_t { point_to_point, collective };

/// A microbenchmark as a value; the file is microbench/<name>.cpp and the list is in registry.cpp.
struct Benchmark {
  std::string_view name;
  std::string_view summary;  ///< one line: what is timed and what the number means
  BenchmarkKind kind;
  std::string_view default_sizes;  ///< a size list (core/sizes.hpp); empty: the test has no size
  std::optional<Collective> collective;
  bool uneven = false;         ///< parts of different sizes, some empty: see uneven_counts()
  Rank fewest_ranks = 1;       ///< of a point-to-point test: 2
  void (*run)(BenchContext&);  ///< called by every rank; emits its rows through the context
};

constexpr Rank minimum_ranks(const Benchmark& benchmark) noexcept {
  return benchmark.kind == BenchmarkKind::point_to_point ? 2 : benchmark.fewest_ranks;
}

/// Every benchmark, point-to-point first, then by name.
std::span<const Benchmark* const> benchmarks() noexcept;
/// Throws Error(usage) that starts with `what` and lists the valid names.
const Benchmark& find_benchmark(std::string_view name, std::string_view what);

}  // namespace commtune
