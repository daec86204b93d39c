#pragma once
#include <cstdint>
#include <string>

#include "core/types.hpp"

namespace commtune {

/// What a block holds, symbolically. `low` and `high` are a 128-bit sum of one random weight per
/// (rank, block) term: equal sums mean, up to a chance of 2^-128, equal multisets of terms, so a
/// term that is missing or counted twice shows. `tree` is a hash of the reduction tree that ignores
/// only the order of the two operands: equal trees give equal bits in floating point. A value that
/// combines the ranks [from, until) in that order says so; others have from > until.
struct SymbolicValue {
  std::uint64_t low = 0, high = 0, tree = 0;
  Rank from = 0, until = 0;
  bool written() const noexcept { return (low | high) != 0; }
  bool same_terms(const SymbolicValue& other) const noexcept {
    return low == other.low && high == other.high;
  }
};

constexpr std::uint64_t scramble(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Block `block` of `rank`'s input.
constexpr SymbolicValue contribution(Rank rank, std::uint32_t block) noexcept {
  const std::uint64_t key = (static_cast<std::uint64_t>(rank) << 32) | block;
  const std::uint64_t low = scramble(key);
  return {low, scramble(~key), low, rank, rank + 1};
}

constexpr SymbolicValue combine(const SymbolicValue& a, const SymbolicValue& b) noexcept {
  const bool adjacent = a.from < a.until && b.from < b.until && a.until == b.from;
  return {a.low + b.low, a.high + b.high, scramble(a.tree + b.tree), adjacent ? a.from : 1,
          adjacent ? b.until : 0};
}

/// Why `got` is not `expected`, as far as one term tells.
std::string explain(const SymbolicValue& got, const SymbolicValue& expected, std::uint32_t block,
                    std::size_t ranks, bool summed);

}  // namespace commtune
