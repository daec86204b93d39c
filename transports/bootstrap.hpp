#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// Out-of-band exchange for set-up, agreement and gathering results; never inside a timed region.
/// Collective: every rank calls in the same order. Waits sleep rather than spin, so that a probe on
/// one rank is not disturbed by the others. Throws Error(peer) once another rank has failed.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual Rank rank() const noexcept = 0;
  virtual Rank size() const noexcept = 0;
  /// all.size() == size() * mine.size(); mine.size() is equal on all ranks.
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void barrier() = 0;
  /// Like allgather, but only rank 0 wants the result; `all` is empty on the others.
  virtual void gather(std::span<const std::byte> mine, std::span<std::byte> all);
};

template <class T>
std::vector<T> allgather_value(Bootstrap& bootstrap, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(bootstrap.size()));
  bootstrap.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Strings of any length, one per rank.
std::vector<std::string> allgather_string(Bootstrap&, std::string_view mine);
/// The same on rank 0; nothing on the others.
std::vector<std::string> gather_string(Bootstrap&, std::string_view mine);

}  // namespace commtune
