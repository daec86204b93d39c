#include "devices/host/reduce_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#if !defined(__clang__)
// GCC 12 takes the deliberately undefined registers inside its own intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Everything that is not a kernel comes before the target changes, so that no function shared with
// other files is compiled for a processor that may not be there.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <type_traits>

#include "core/float16.hpp"
#include "core/float8.hpp"
#include "core/types.hpp"

namespace commtune {
namespace {

bool processor_has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace
}  // namespace commtune

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#endif

#include "devices/host/reduce_vectors.hpp"

namespace commtune {
namespace {

struct Avx512 {
  static constexpr std::string_view name = "avx512";
  static constexpr std::size_t bytes = 64;
  using Halves = reduce_vectors::VectorOf<std::uint16_t, 64>::type;
  using Floats = reduce_vectors::VectorOf<float, 64>::type;
  using Bytes = reduce_vectors::VectorOf<std::uint8_t, 64>::type;
  using HalfBytes = reduce_vectors::VectorOf<std::uint8_t, 32>::type;

  static void widen(Halves halves, Floats& low, Floats& high) {
    const auto both = reinterpret_cast<__m512i>(halves);
    low = _mm512_cvtph_ps(_mm512_castsi512_si256(both));
    high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(both, 1));
  }
  static Halves narrow(Floats low, Floats high) {
    const __m256i first = _mm512_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    const __m256i second = _mm512_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT);
    return reinterpret_cast<Halves>(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
  }
  static Halves expand(HalfBytes raw) {
    return reinterpret_cast<Halves>(_mm512_cvtepu8_epi16(reinterpret_cast<__m256i>(raw)));
  }
  static HalfBytes compress(Halves values) {
    return reinterpret_cast<HalfBytes>(_mm512_cvtepi16_epi8(reinterpret_cast<__m512i>(values)));
  }
  /// `size` < 64.
  static __mmask64 first_bytes(std::size_t size) { return (std::uint64_t{1} << size) - 1; }
  template <class Raw>
  static Raw load_part(const std::byte* from, std::size_t size) {
    if constexpr (sizeof(Raw) == 64) {
      return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi8(first_bytes(size), from));
    } else {
      const auto mask = static_cast<__mmask32>(first_bytes(size));
      return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi8(mask, from));
    }
  }
  static void store_part(std::byte* into, Bytes raw, std::size_t size) {
    _mm512_mask_storeu_epi8(into, first_bytes(size), reinterpret_cast<__m512i>(raw));
  }
  static void store_part(std::byte* into, HalfBytes raw, std::size_t size) {
    _mm256_mask_storeu_epi8(into, static_cast<__mmask32>(first_bytes(size)),
                            reinterpret_cast<__m256i>(raw));
  }
  static void stream(std::byte* into, Bytes raw) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(into), reinterpret_cast<__m512i>(raw));
  }
  static void stream(std::byte* into, HalfBytes raw) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(into), reinterpret_cast<__m256i>(raw));
  }
  static void order_streams() { _mm_sfence(); }
};

const ReduceKernels* kernels() noexcept { return &reduce_vectors::kernels<Avx512>; }

}  // namespace

const ReduceKernels* avx512_reduce_kernels() noexcept {
  return processor_has_avx512() ? kernels() : nullptr;
}

}  // namespace commtune

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

namespace commtune {
const ReduceKernels* avx512_reduce_kernels() noexcept { return nullptr; }
}  // namespace commtune

#endif
