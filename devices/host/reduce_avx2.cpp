#include "devices/host/reduce_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

// Everything that is not a kernel comes before the target changes, so that no function shared with
// other files is compiled for a processor that may not be there.
#include <array>
#include <cpuid.h>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <type_traits>

#include "core/float16.hpp"
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

#include "devices/host/reduce_loops.hpp"

namespace commtune {
namespace {

struct Avx2 {
  static constexpr std::size_t half_width = 8;

  static __m256 load(const Float16* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(Float16* into, __m256 values) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into),
                     _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
  }
  template <reduce_loops::Op op>
  static void reduce_halves(const Float16* x, const Float16* y, Float16* z) {
    store(z, reduce_loops::apply<Avx2, op>(load(x), load(y)));
  }
  static void divide_halves(Float16* x, float divisor) {
    store(x, load(x) / _mm256_set1_ps(divisor));
  }
};

const ReduceKernels* kernels() noexcept { return &reduce_loops::kernels<Avx2>; }

}  // namespace

const ReduceKernels* avx2_reduce_kernels() noexcept {
  return processor_has_avx2_and_f16c() ? kernels() : nullptr;
}

}  // namespace commtune

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

namespace commtune {
const ReduceKernels* avx2_reduce_kernels() noexcept { return nullptr; }
}  // namespace commtune

#endif
