#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace commtune {

/// Real compute for replays: single-precision matrix products through OpenBLAS on one thread, in
/// pieces short enough to poll communication between them.
class Gemm {
 public:
  /// Square products of edge `edge`; buffers are touched. One piece is one product of
  /// 2*edge^3 floating-point operations. Throws Error(usage) unless 1 <= edge <= 32768.
  explicit Gemm(int edge = 128);
  /// Runs one piece.
  void run_piece();
  /// Median nanoseconds of one piece over `pieces` runs, after a warm-up.
  double calibrate(int pieces = 64);
  std::uint64_t flops_per_piece() const noexcept;
  /// A value that depends on every product, so that no compiler or reader doubts they ran.
  float checksum() const noexcept;

 private:
  int edge_;
  std::vector<float> a_, b_, c_;
  double checksum_ = 0;
  std::size_t pieces_ = 0;
};

/// "OpenBLAS 0.3.21 ..." as the loaded library reports itself.
std::string blas_version();

}  // namespace commtune
