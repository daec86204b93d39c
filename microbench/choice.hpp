#pragma once
#include <string>
#include <vector>

#include "core/json.hpp"
#include "microbench/context.hpp"

namespace commtune {

/// One implementation to run for a row.
struct Choice {
  std::string asked;
  const Algorithm* algorithm = nullptr;  ///< null: a library's collective
  Library* library = nullptr;            ///< the library; null: an algorithm, or it is missing
  Params params;
  std::string evidence;  ///< why this one: "asked by name", "built-in table", ...
  std::string skip;      ///< not empty: cannot run, for this reason
};

/// What `--algorithm` means for this collective and size, without duplicates. A name that another
/// collective has but this one has not becomes a choice to skip.
std::vector<Choice> choose(BenchContext&, Collective, std::uint64_t bytes);

/// The members of `params` that the algorithm reads, as an object.
Json params_json(const Algorithm&, const Params&);

/// Throws Error(usage) that starts with `what` unless `name` is `auto`, `all`, a library
/// (names_library) or an algorithm of at least one collective, maybe with parameters: whether it
/// reads them depends on the collective.
void require_algorithm_name(std::string_view name, std::string_view what);

}  // namespace commtune
