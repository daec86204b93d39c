#include "devices/host/gemm.hpp"

#include <algorithm>
#include <cblas.h>
#include <cstddef>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

constexpr int max_edge = 32768;

std::size_t elements(int edge) {
  require(edge >= 1 && edge <= max_edge, "gemm: edge {} is out of range; use 1 to {}", edge,
          max_edge);
  return static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
}

/// Small exact values of both signs.
void fill(std::vector<float>& matrix, std::size_t period) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix[i] = static_cast<float>(i % period) * 0.25F - 1.0F;
  }
}

}  // namespace

Gemm::Gemm(int edge) : edge_(edge), a_(elements(edge)), b_(a_.size()), c_(a_.size()) {
  openblas_set_num_threads(1);
  constexpr std::size_t period_a = 11;
  constexpr std::size_t period_b = 7;
  fill(a_, period_a);
  fill(b_, period_b);
}

void Gemm::run_piece() {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, edge_, edge_, edge_, 1.0F, a_.data(),
              edge_, b_.data(), edge_, 0.0F, c_.data(), edge_);
  checksum_ += static_cast<double>(c_[pieces_ % c_.size()]);
  ++pieces_;
}

double Gemm::calibrate(int pieces) {
  require(pieces >= 1, "gemm: calibration needs at least 1 piece, not {}", pieces);
  const int warm_up = pieces / 4 + 1;
  for (int i = 0; i < warm_up; ++i) run_piece();
  std::vector<std::int64_t> durations(static_cast<std::size_t>(pieces));
  for (auto& duration : durations) {
    const std::int64_t start = monotonic_ns();
    run_piece();
    duration = monotonic_ns() - start;
  }
  std::sort(durations.begin(), durations.end());
  const std::size_t middle = durations.size() / 2;
  const auto upper = static_cast<double>(durations[middle]);
  if (durations.size() % 2 != 0) return upper;
  return (static_cast<double>(durations[middle - 1]) + upper) / 2;
}

std::uint64_t Gemm::flops_per_piece() const noexcept {
  const auto edge = static_cast<std::uint64_t>(edge_);
  return 2 * edge * edge * edge;
}

float Gemm::checksum() const noexcept { return static_cast<float>(checksum_); }

std::string blas_version() { return openblas_get_config(); }

}  // namespace commtune
