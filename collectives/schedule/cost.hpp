#pragma once
#include <cstdint>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

/// Hockney's model with computation, after Thakur, Rabenseifner & Gropp (IJHPCA 19(1), 2005): a
/// message of n bytes takes alpha + n*beta and occupies one port each at sender and receiver,
/// reducing n bytes takes n*gamma, copying is free. Microseconds and bytes.
struct Network {
  double alpha_us, beta_us_per_byte, gamma_us_per_byte;
};

struct Estimate {
  double microseconds;            ///< when the last rank finishes
  std::uint64_t messages, bytes;  ///< on the wire, all ranks
};

/// Event-driven evaluation of all ranks' programs, in-order issue per direction, unbounded window.
/// `count` elements of `element_bytes` as in Layout.
Estimate estimate(const Algorithm&, Shape shape, const Params&, std::uint64_t count,
                  std::size_t element_bytes, const Network&);

}  // namespace commtune
