#include "devices/host/gemm.hpp"

#include <gtest/gtest.h>

#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

/// Element `at` of the product that Gemm forms, in exact arithmetic: its inputs are multiples of
/// 1/4 below 2 in magnitude.
float product_element(int edge, std::size_t at) {
  const auto n = static_cast<std::size_t>(edge);
  float sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto a = static_cast<float>((at / n * n + k) % 11) * 0.25F - 1.0F;
    const auto b = static_cast<float>((k * n + at % n) % 7) * 0.25F - 1.0F;
    sum += a * b;
  }
  return sum;
}

TEST(Gemm, forms_the_exact_product) {
  for (const int edge : {1, 3, 17, 33}) {
    Gemm gemm(edge);
    EXPECT_EQ(gemm.checksum(), 0.0F);
    float expected = 0;
    for (std::size_t piece = 0; piece < 5; ++piece) {
      gemm.run_piece();
      expected += product_element(
          edge, piece % (static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge)));
      EXPECT_EQ(gemm.checksum(), expected) << edge;
    }
  }
}

TEST(Gemm, counts_floating_point_operations) {
  EXPECT_EQ(Gemm(128).flops_per_piece(), 4194304U);
  EXPECT_EQ(Gemm(3).flops_per_piece(), 54U);
}

TEST(Gemm, calibrates_to_a_positive_time) {
  Gemm gemm(16);
  EXPECT_GT(gemm.calibrate(9), 0.0);
  EXPECT_GT(gemm.calibrate(2), 0.0);
  error_of(Errc::usage, [&] { gemm.calibrate(0); });
}

TEST(Gemm, refuses_an_edge_out_of_range) {
  for (const int edge : {0, -1, 32769}) {
    EXPECT_TRUE(holds(error_of(Errc::usage, [&] { Gemm{edge}; }), std::to_string(edge)));
  }
}

TEST(Gemm, names_the_library) { EXPECT_EQ(blas_version().rfind("OpenBLAS ", 0), 0U); }

}  // namespace
}  // namespace commtune
