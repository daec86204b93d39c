#include "devices/host/reduce_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

// Everything that is not a kernel comes before the target changes, so that no function shared with
// other files is compiled for a processor that may not be there.
#include <algorithm>
#include <array>
#include <cpuid.h>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <type_traits>

#include "core/float16.hpp"
#include "core/float8.hpp"
#include "core/types.hpp"

namespace commtune {
namespace {

bool processor_has_avx2_and_f16c() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         (ecx & bit_F16C) != 0;
}

}  // namespace
}  // namespace commtune

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

#include "devices/host/reduce_vectors.hpp"

namespace commtune {
namespace {

struct Avx2 {
  static constexpr std::string_view name = "avx2";
  static constexpr std::size_t bytes = 32;
  using Halves = reduce_vectors::VectorOf<std::uint16_t, 32>::type;
  using Floats = reduce_vectors::VectorOf<float, 32>::type;
  using Bytes = reduce_vectors::VectorOf<std::uint8_t, 32>::type;
  using HalfBytes = reduce_vectors::VectorOf<std::uint8_t, 16>::type;

  static void widen(Halves halves, Floats& low, Floats& high) {
    const auto both = reinterpret_cast<__m256i>(halves);
    low = _mm256_cvtph_ps(_mm256_castsi256_si128(both));
    high = _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1));
  }
  static Halves narrow(Floats low, Floats high) {
    const __m128i first = _mm256_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    const __m128i second = _mm256_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT);
    return reinterpret_cast<Halves>(_mm256_set_m128i(second, first));
  }
  static Halves expand(HalfBytes raw) {
    return reinterpret_cast<Halves>(_mm256_cvtepu8_epi16(reinterpret_cast<__m128i>(raw)));
  }
  static HalfBytes compress(Halves values) {
    const auto both = reinterpret_cast<__m256i>(values);
    const __m128i packed =
        _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    return reinterpret_cast<HalfBytes>(packed);
  }
  template <class Raw>
  static Raw load_part(const std::byte* from, std::size_t size) {
    Raw raw{};
    __builtin_memcpy(&raw, from, size);
    return raw;
  }
  template <class Raw>
  static void store_part(std::byte* into, Raw raw, std::size_t size) {
    __builtin_memcpy(into, &raw, size);
  }
  static void stream(std::byte* into, Bytes raw) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(into), reinterpret_cast<__m256i>(raw));
  }
  static void stream(std::byte* into, HalfBytes raw) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(into), reinterpret_cast<__m128i>(raw));
  }
  static void order_streams() { _mm_sfence(); }
};

const ReduceKernels* kernels() noexcept { return &reduce_vectors::kernels<Avx2>; }

}  // namespace

const ReduceKernels* avx2_reduce_kernels() noexcept {
  return processor_has_avx2_and_f16c() ? kernels() : nullptr;
}

}  // namespace commtune

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

namespace commtune {
const ReduceKernels* avx2_reduce_kernels() noexcept { return nullptr; }
}  // namespace commtune

#endif
