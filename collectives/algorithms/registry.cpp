#include <string>

#include "collectives/schedule/algorithm.hpp"
#include "core/error.hpp"

// One line per algorithm, sorted by collective as declared, then by name. The name is the file's.
#define CT_ALGORITHMS(X)          \
  X(allreduce_direct)             \
  X(allreduce_rabenseifner)       \
  X(allreduce_recursive_doubling) \
  X(allreduce_reduce_broadcast)   \
  X(allreduce_ring)               \
  X(broadcast_binomial)           \
  X(broadcast_scatter_allgather)  \
  X(allgather_recursive_doubling) \
  X(allgather_ring)               \
  X(reduce_scatter_ring)          \
  X(barrier_dissemination)

namespace commtune {

#define CT_DECLARE(id) extern const Algorithm id;
CT_ALGORITHMS(CT_DECLARE)
#undef CT_DECLARE

std::span<const Algorithm* const> algorithms() noexcept {
#define CT_ADDRESS(id) &id,
  static constexpr const Algorithm* all[] = {CT_ALGORITHMS(CT_ADDRESS)};
#undef CT_ADDRESS
  return all;
}

std::string refusal(const Algorithm& algorithm, const Shape& shape, const Params& params) {
  return algorithm.refuse == nullptr ? std::string{} : algorithm.refuse(shape, params);
}

const Algorithm& find_algorithm(Collective collective, std::string_view name,
                                std::string_view what) {
  std::string known;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != collective) continue;
    if (algorithm->name == name) return *algorithm;
    if (!known.empty()) known += ", ";
    known += algorithm->name;
  }
  fail(Errc::usage, "{}: unknown algorithm {}/{}; known: {}", what, commtune::name(collective),
       name, known);
}

}  // namespace commtune
