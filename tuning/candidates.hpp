#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/types.hpp"

namespace commtune {

/// One way to run a collective, and what makes a fresh process run it that way.
struct Candidate {
  std::string algorithm;  ///< as in the table
  Json params = Json::object();
  std::string bench_algorithm;  ///< as in bench --algorithm
  std::vector<std::pair<std::string, std::string>> environment;
};

/// The name of our own algorithms in a table's "library".
inline constexpr std::string_view own_library = "commtune";

/// What to measure before it is known which library serves the job: the plain default.
Candidate default_candidate(std::string_view transport);

/// The other candidates for `library` ("openmpi", "mpich", own_library), in a fixed order. Those
/// that cannot run with `ranks` ranks are left out. Throws Error(usage) for other libraries.
std::vector<Candidate> candidates_of(std::string_view library, Collective collective, int ranks);

/// Throws Error(usage) that names the collective where MPI has none of that name and `transport`
/// would have it tune MPI's.
void require_tunable(std::string_view transport, Collective collective);

/// "segmented_ring segsize=64K".
std::string label(const Candidate&);

}  // namespace commtune
