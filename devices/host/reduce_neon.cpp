#include "devices/host/reduce_kernels.hpp"

#if defined(__aarch64__) && defined(__GNUC__)

#include <arm_neon.h>

#include "devices/host/reduce_vectors.hpp"

namespace commtune {
namespace {

/// Every aarch64 processor has these instructions. Streaming stores are ordinary ones: the
/// instruction set has no store that bypasses the caches.
struct Neon {
  static constexpr std::string_view name = "neon";
  static constexpr std::size_t bytes = 16;
  using Halves = reduce_vectors::VectorOf<std::uint16_t, 16>::type;
  using Floats = reduce_vectors::VectorOf<float, 16>::type;
  using Bytes = reduce_vectors::VectorOf<std::uint8_t, 16>::type;
  using HalfBytes = reduce_vectors::VectorOf<std::uint8_t, 8>::type;

  static void widen(Halves halves, Floats& low, Floats& high) {
    const auto both = reinterpret_cast<float16x8_t>(halves);
    low = reinterpret_cast<Floats>(vcvt_f32_f16(vget_low_f16(both)));
    high = reinterpret_cast<Floats>(vcvt_high_f32_f16(both));
  }
  static Halves narrow(Floats low, Floats high) {
    const float16x4_t first = vcvt_f16_f32(reinterpret_cast<float32x4_t>(low));
    return reinterpret_cast<Halves>(vcvt_high_f16_f32(first, reinterpret_cast<float32x4_t>(high)));
  }
  static Halves expand(HalfBytes raw) {
    return reinterpret_cast<Halves>(vmovl_u8(reinterpret_cast<uint8x8_t>(raw)));
  }
  static HalfBytes compress(Halves values) {
    return reinterpret_cast<HalfBytes>(vmovn_u16(reinterpret_cast<uint16x8_t>(values)));
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
  template <class Raw>
  static void stream(std::byte* into, Raw raw) {
    __builtin_memcpy(into, &raw, sizeof raw);
  }
  static void order_streams() {}
};

}  // namespace

const ReduceKernels* neon_reduce_kernels() noexcept { return &reduce_vectors::kernels<Neon>; }

}  // namespace commtune

#else

namespace commtune {
const ReduceKernels* neon_reduce_kernels() noexcept { return nullptr; }
}  // namespace commtune

#endif
