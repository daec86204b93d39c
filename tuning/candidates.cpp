#include "tuning/candidates.hpp"

#include <cctype>
#include <fmt/format.h>

#include "collectives/schedule/algorithm.hpp"
#include "core/error.hpp"
#include "tuning/openmpi/algorithms.hpp"
#include "tuning/table.hpp"

namespace commtune {
namespace {

constexpr std::uint64_t small_segment = 64 * 1024, large_segment = 1024 * 1024;

Candidate forced_open_mpi(const openmpi::TunedCollective& collective,
                          const openmpi::TunedAlgorithm& algorithm, std::uint64_t segment) {
  const std::string prefix = fmt::format("OMPI_MCA_coll_tuned_{}_algorithm", collective.name);
  Candidate candidate;
  candidate.algorithm = algorithm.name;
  candidate.bench_algorithm = "native";
  candidate.environment = {{"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"},
                           {prefix, fmt::format("{}", algorithm.id)}};
  if (segment != 0) {
    candidate.environment.emplace_back(prefix + "_segmentsize", fmt::format("{}", segment));
    candidate.params["segsize"] = segment;
  }
  return candidate;
}

bool wants_segments(const openmpi::TunedCollective& collective,
                    const openmpi::TunedAlgorithm& algorithm) {
  if (collective.name == "allreduce") return algorithm.name == "segmented_ring";
  return collective.name == "bcast" && algorithm.id >= 2 && algorithm.id <= 5;
}

std::vector<Candidate> open_mpi_candidates(Collective collective, int ranks) {
  const openmpi::TunedCollective& tuned = openmpi::tuned(collective);
  std::vector<Candidate> candidates;
  for (const openmpi::TunedAlgorithm& algorithm : tuned.algorithms) {
    if (algorithm.since != openmpi::Family::v4_1) continue;
    if (!openmpi::restriction(tuned, algorithm, ranks).empty()) continue;
    if (!wants_segments(tuned, algorithm)) {
      candidates.push_back(forced_open_mpi(tuned, algorithm, 0));
      continue;
    }
    for (const std::uint64_t segment : {small_segment, large_segment}) {
      candidates.push_back(forced_open_mpi(tuned, algorithm, segment));
    }
  }
  return candidates;
}

std::vector<std::string_view> mpich_names(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return {"recursive_doubling", "reduce_scatter_allgather", "smp", "nb"};
    case Collective::broadcast:
      return {"binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "smp",
              "nb"};
    case Collective::allgather:
      return {"brucks", "recursive_doubling", "ring", "nb"};
    case Collective::reduce_scatter:
      return {"noncommutative", "pairwise", "recursive_doubling", "recursive_halving", "nb"};
    case Collective::reduce:
      return {"binomial", "reduce_scatter_gather", "smp", "nb"};
    case Collective::alltoall:
      return {"brucks", "pairwise", "scattered", "nb"};
    case Collective::gather:
    case Collective::scatter:
      return {"binomial", "nb"};
    case Collective::scan:
      return {"smp", "recursive_doubling", "nb"};
    case Collective::exscan:
      return {"recursive_doubling", "nb"};
    case Collective::sendrecv:
      return {};
    case Collective::barrier:
      return {"dissemination", "smp", "nb"};
  }
  return {};
}

std::string_view mpich_collective(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "ALLREDUCE";
    case Collective::broadcast:
      return "BCAST";
    case Collective::allgather:
      return "ALLGATHER";
    case Collective::reduce_scatter:
      return "REDUCE_SCATTER_BLOCK";
    case Collective::reduce:
      return "REDUCE";
    case Collective::alltoall:
      return "ALLTOALL";
    case Collective::gather:
      return "GATHER";
    case Collective::scatter:
      return "SCATTER";
    case Collective::scan:
      return "SCAN";
    case Collective::exscan:
      return "EXSCAN";
    case Collective::sendrecv:
      return "";
    case Collective::barrier:
      return "BARRIER";
  }
  return "";
}

bool mpich_restricted(Collective collective, std::string_view name, int ranks) {
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  return !power_of_two && ((collective == Collective::allgather && name == "recursive_doubling") ||
                           (collective == Collective::reduce_scatter && name == "noncommutative"));
}

std::vector<Candidate> mpich_candidates(Collective collective, int ranks) {
  std::vector<Candidate> candidates;
  for (const std::string_view each : mpich_names(collective)) {
    if (mpich_restricted(collective, each, ranks)) continue;
    Candidate candidate;
    candidate.algorithm = each;
    candidate.bench_algorithm = "native";
    candidate.environment = {
        {fmt::format("MPIR_CVAR_{}_INTRA_ALGORITHM", mpich_collective(collective)),
         std::string(each)},
        {"MPIR_CVAR_COLLECTIVE_FALLBACK", "error"}};
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::vector<Candidate> own_candidates(Collective collective, int ranks) {
  std::vector<Candidate> candidates;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != collective) continue;
    if (!refusal(*algorithm, Shape{.size = ranks}, Params{}).empty()) continue;
    Candidate candidate;
    candidate.algorithm = algorithm->name;
    candidate.bench_algorithm = algorithm->name;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

Candidate default_candidate(std::string_view transport) {
  Candidate candidate;
  candidate.algorithm = default_algorithm;
  candidate.bench_algorithm = transport == "mpi" ? "native" : "auto";
  return candidate;
}

std::vector<Candidate> candidates_of(std::string_view library, Collective collective, int ranks) {
  if (library != own_library) require_tunable("mpi", collective);
  if (library == "openmpi") return open_mpi_candidates(collective, ranks);
  if (library == "mpich") return mpich_candidates(collective, ranks);
  if (library == own_library) return own_candidates(collective, ranks);
  fail(Errc::usage, "tune knows the algorithms of openmpi, mpich and {}, not of \"{}\"",
       own_library, library);
}

void require_tunable(std::string_view transport, Collective collective) {
  require(transport != "mpi" || collective != Collective::sendrecv,
          "COLLECTIVE {}: MPI has no such collective, so there is nothing to tune over mpi; use "
          "--transport shm or threads",
          name(collective));
}

std::string label(const Candidate& candidate) {
  const std::string params = describe_params(candidate.params);
  return params.empty() ? candidate.algorithm : candidate.algorithm + " " + params;
}

}  // namespace commtune
