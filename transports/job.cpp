#include "transports/job.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/error.hpp"
#include "transports/launch.hpp"
#include "transports/module.hpp"

namespace commtune {

namespace {

std::optional<int> number_from(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end || value < 0) return std::nullopt;
  return value;
}

TransportInfo mpi_info() {
  TransportInfo info{"mpi", "messages through an MPI library, MPI_Isend and MPI_Irecv", false, {}};
  try {
    load_module("transport_mpi", "commtune_transport_module");
    info.available = true;
    info.reason = find_module("transport_mpi").string();
  } catch (const Error& error) {
    info.reason = error.what();
  }
  return info;
}

}  // namespace

namespace {

/// Tasks of a step that srun started. The script of a batch job runs in a step of its own, with a
/// number beyond all others; it is not a launcher's rank.
std::optional<int> slurm_tasks() {
  constexpr unsigned long first_special_step = 4'000'000'000UL;
  const char* const step = std::getenv("SLURM_STEP_ID");
  if (step == nullptr || std::strtoul(step, nullptr, 10) >= first_special_step) return {};
  const std::optional<int> tasks = number_from("SLURM_STEP_NUM_TASKS");
  return tasks ? tasks : number_from("SLURM_NTASKS");
}

}  // namespace

LauncherEnvironment launcher_environment() {
  struct Kind {
    const char *name, *rank, *size;
  };
  constexpr std::array kinds{Kind{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                             Kind{"mpich", "PMI_RANK", "PMI_SIZE"}};
  for (const Kind& kind : kinds) {
    const std::optional<int> rank = number_from(kind.rank), size = number_from(kind.size);
    if (rank && size && *size > 0) return {kind.name, *rank, *size};
  }
  // Without a process manager interface the ranks cannot find each other: joining says so, where
  // starting one job per task would not.
  const std::optional<int> rank = number_from("SLURM_PROCID"), size = slurm_tasks();
  if (rank && size && *size > 1) return {"slurm", *rank, *size};
  return {};
}

std::vector<TransportInfo> transports() {
  return {{"shm", "processes of this host over shared memory", true, {}},
          {"threads", "threads of one process", true, {}},
          mpi_info()};
}

Outcome run_job(const LaunchOptions& options, const std::function<int(Job&)>& body) {
  require(options.ranks >= 1, "--ranks: {} ranks cannot run; give at least 1", options.ranks);
  require(options.timeout_s > 0, "--timeout: {} s; give a positive time", options.timeout_s);
  if (options.transport == "shm") {
    return run_local_job(options, local::Fabric::Kind::processes, body);
  }
  if (options.transport == "threads") {
    return run_local_job(options, local::Fabric::Kind::threads, body);
  }
  require(options.transport == "mpi",
          "--transport: unknown transport \"{}\"; known: shm, threads, mpi", options.transport);
  const LauncherEnvironment launcher = launcher_environment();
  return launcher.kind.empty() ? start_mpi_job(options) : join_mpi_job(options, launcher, body);
}

}  // namespace commtune
