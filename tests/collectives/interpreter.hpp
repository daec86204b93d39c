#pragma once
#include <cstdint>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune::test {

/// Executes the programs of all ranks of `call` in this process, one step at a time, on
/// `memory[rank]`: the bits that every transport must produce. Works in windows of `width` elements
/// of a part, as waves do; see window_width().
void interpret(const std::vector<Schedule>&, const Call& call, std::uint64_t width,
               const std::vector<CallMemory>& memory);

/// The width of the windows that Limits::wave_bytes means, whatever the transport; `wave_bytes` is
/// not by_cache.
std::uint64_t window_width(const std::vector<Schedule>&, const Call&, std::uint64_t wave_bytes);

/// Values whose sums and products round: random significands, exponents around 0, either sign.
/// Integers: any bits.
void fill_random(std::span<std::byte> data, DataType, std::uint64_t seed);

/// A call that was interpreted: what every rank's output must hold afterwards.
struct Interpreted {
  const Algorithm* algorithm;
  Params params;
  Call call;  ///< without buffers
  std::uint64_t wave_bytes;
  std::uint64_t seed;
  std::vector<std::vector<std::byte>> outputs;  ///< by rank
};
/// Fills in `outputs`: rank r's input is fill_random(input_seed(r)).
void interpret(Interpreted&, Rank size);
std::uint64_t input_seed(const Interpreted&, Rank rank);

}  // namespace commtune::test
