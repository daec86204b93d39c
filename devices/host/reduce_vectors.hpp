#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "devices/host/reduce_lanes.hpp"
#include "devices/host/reduce_loops.hpp"

/// The kernels on vector registers, compiled once per instruction set. `Isa` provides
///   bytes                        of a vector register
///   widen(halves, low, high)     binary16 to float
///   narrow(low, high)            float to binary16, to nearest even
///   expand(raw), compress(v)     half a register of bytes to 16-bit lanes and back
///   load_part, store_part        the first `size` bytes of a register
///   stream(into, raw)            a non-temporal store, `into` aligned to the register
///   order_streams()              orders those stores before later ones
namespace commtune::reduce_vectors {

template <class Isa>
struct Vectors {
  template <class T>
  static constexpr std::size_t step = sizeof(typename Lanes<Isa, T>::Raw);

  template <class T>
  COMMTUNE_INLINE auto load(const std::byte* from) {
    typename Lanes<Isa, T>::Raw raw;
    __builtin_memcpy(&raw, from, sizeof raw);
    return Lanes<Isa, T>::decode(raw);
  }
  template <class T, Stores stores>
  COMMTUNE_INLINE void store(std::byte* into, typename Lanes<Isa, T>::Value value) {
    const auto raw = Lanes<Isa, T>::encode(value);
    if constexpr (stores == Stores::streaming) {
      Isa::stream(into, raw);
    } else {
      __builtin_memcpy(into, &raw, sizeof raw);
    }
  }

  /// `vectors` vectors from `offset` on of every source.
  template <class T, Op op, Stores stores, std::size_t vectors>
  COMMTUNE_INLINE void group(const std::byte* const* sources, std::size_t n, std::byte* into,
                             std::size_t offset) {
    using L = Lanes<Isa, T>;
    typename L::Value values[vectors];
    for (std::size_t k = 0; k < vectors; ++k) {
      values[k] = load<T>(sources[0] + offset + k * step<T>);
    }
    for (std::size_t source = 1; source < n; ++source) {
      const std::byte* from = sources[source] + offset;
      for (std::size_t k = 0; k < vectors; ++k) {
        values[k] = L::template apply<op>(values[k], load<T>(from + k * step<T>));
      }
    }
    for (std::size_t k = 0; k < vectors; ++k) {
      store<T, stores>(into + offset + k * step<T>, values[k]);
    }
  }

  /// `size` < step bytes from `offset` on of every source.
  template <class T, Op op>
  COMMTUNE_INLINE void part(const std::byte* const* sources, std::size_t n, std::byte* into,
                            std::size_t offset, std::size_t size) {
    using L = Lanes<Isa, T>;
    using Raw = typename L::Raw;
    auto value = L::decode(Isa::template load_part<Raw>(sources[0] + offset, size));
    for (std::size_t source = 1; source < n; ++source) {
      const auto raw = Isa::template load_part<Raw>(sources[source] + offset, size);
      value = L::template apply<op>(value, L::decode(raw));
    }
    Isa::store_part(into + offset, L::encode(value), size);
  }

  template <class T, Op op, Stores stores>
  COMMTUNE_INLINE void chain(const std::byte* const* sources, std::size_t n, std::byte* into,
                             std::size_t bytes) {
    constexpr std::size_t unrolled = 4;
    std::size_t offset = 0;
    if constexpr (stores == Stores::streaming) {
      const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(into) % step<T>;
      if (misaligned % sizeof(T) != 0) {
        return chain<T, op, Stores::cached>(sources, n, into, bytes);
      }
      if (misaligned != 0) offset = std::min(bytes, step<T> - misaligned);
      if (offset != 0) part<T, op>(sources, n, into, 0, offset);
    }
    for (; bytes - offset >= unrolled * step<T>; offset += unrolled * step<T>) {
      group<T, op, stores, unrolled>(sources, n, into, offset);
    }
    for (; bytes - offset >= step<T>; offset += step<T>) {
      group<T, op, stores, 1>(sources, n, into, offset);
    }
    if (offset != bytes) part<T, op>(sources, n, into, offset, bytes - offset);
  }

  template <Stores stores>
  COMMTUNE_INLINE void finish() {
    if constexpr (stores == Stores::streaming) Isa::order_streams();
  }

  template <class T, Op op, Stores stores>
  static void reduce(const std::byte* a, const std::byte* b, std::byte* into, std::size_t count) {
    const std::byte* const sources[] = {a, b};
    chain<T, op, stores>(sources, 2, into, count * sizeof(T));
    finish<stores>();
  }

  /// More streams than these at a time outrun the prefetchers.
  static constexpr std::size_t group_size = 16;

  template <class T, Op op, Stores stores>
  static void many(const std::byte* const* sources, std::size_t n, std::byte* into,
                   std::size_t count) {
    if (n > group_size) {
      return groups(many<T, op, Stores::cached>, many<T, op, stores>, sizeof(T), sources, n, into,
                    count);
    }
    chain<T, op, stores>(sources, n, into, count * sizeof(T));
    finish<stores>();
  }

  /// Block by block, each of which passes all groups of sources in a cache before it is written, as
  /// the result may overwrite any source. `last` writes the result, `others` the block.
  static void groups(ManyReduceKernel others, ManyReduceKernel last, std::size_t element_bytes,
                     const std::byte* const* sources, std::size_t n, std::byte* into,
                     std::size_t count) {
    constexpr std::size_t block_bytes = 8192;
    alignas(Isa::bytes) std::byte block[block_bytes];
    const std::byte* group[group_size];
    // The first block ends where the registers' alignment of `into` begins.
    std::size_t step =
        (block_bytes - reinterpret_cast<std::uintptr_t>(into) % Isa::bytes) / element_bytes;
    for (std::size_t first = 0; first < count; first += step, step = block_bytes / element_bytes) {
      step = std::min(step, count - first);
      const std::size_t offset = first * element_bytes;
      std::size_t done = 0, members = 0;
      for (; n - done + members > group_size; members = 1) {
        for (; members < group_size; ++members) group[members] = sources[done++] + offset;
        others(group, members, block, step);
        group[0] = block;
      }
      for (; done < n; ++done) group[members++] = sources[done] + offset;
      last(group, members, into + offset, step);
    }
  }

  template <class T>
  static void scale(std::byte* data, std::size_t count, int divisor) {
    if constexpr (std::is_integral_v<T>) {
      reduce_loops::scale<Isa, T>(data, count, divisor);
    } else {
      using L = Lanes<Isa, T>;
      const std::size_t bytes = count * sizeof(T);
      std::size_t offset = 0;
      for (; bytes - offset >= step<T>; offset += step<T>) {
        store<T, Stores::cached>(data + offset, L::divide(load<T>(data + offset), divisor));
      }
      if (offset == bytes) return;
      const auto raw = Isa::template load_part<typename L::Raw>(data + offset, bytes - offset);
      const auto quotient = L::encode(L::divide(L::decode(raw), divisor));
      Isa::store_part(data + offset, quotient, bytes - offset);
    }
  }

  template <Stores stores>
  static void copy(const std::byte* from, std::byte* into, std::size_t bytes) {
    if constexpr (stores == Stores::cached) {
      reduce_loops::cached_copy<Isa>(from, into, bytes);
    } else {
      constexpr std::size_t unrolled = 4 * Isa::bytes;
      const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(into) % Isa::bytes;
      std::size_t offset = misaligned == 0 ? 0 : std::min(bytes, Isa::bytes - misaligned);
      reduce_loops::cached_copy<Isa>(from, into, offset);
      for (; bytes - offset >= unrolled; offset += unrolled) {
        Vector<Isa, std::uint8_t> values[4];
        __builtin_memcpy(values, from + offset, unrolled);
        for (std::size_t k = 0; k < 4; ++k) {
          Isa::stream(into + offset + k * Isa::bytes, values[k]);
        }
      }
      reduce_loops::cached_copy<Isa>(from + offset, into + offset, bytes - offset);
      finish<stores>();
    }
  }
};

#undef COMMTUNE_INLINE

template <class Isa>
inline constexpr ReduceKernels kernels = reduce_loops::Tables<Vectors<Isa>>::all_types(Isa::name);

}  // namespace commtune::reduce_vectors
