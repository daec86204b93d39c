#include "transports/job.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
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

/// A transport that needs one of `modules`.
TransportInfo module_info(const char* name, const char* summary,
                          std::initializer_list<const char*> modules) {
  TransportInfo info{name, summary, false,
                     "left out when this program was configured, by request or because its library "
                     "was not found"};
  for (const char* module : modules) {
    const std::filesystem::path file = find_module(fmt::format("transport_{}", module));
    if (file.empty()) continue;
    info.reason =
        info.available ? fmt::format("{}, {}", info.reason, file.string()) : file.string();
    info.available = true;
  }
  return info;
}

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
    if (rank && size && *size > 0) return {kind.name, *rank, *size, false};
  }
  // Somebody who names a meeting point wants the ranks to meet there, also under Slurm.
  const bool meets = std::getenv("MASTER_ADDR") != nullptr;
  const std::optional<int> rank = number_from("RANK"), size = number_from("WORLD_SIZE");
  if (meets && rank && size && *size > 0) return {"torchrun", *rank, *size, true};
  // Without a process manager interface or a meeting point the ranks cannot find each other:
  // joining says so, where starting one job per task would not.
  const std::optional<int> task = number_from("SLURM_PROCID"), tasks = slurm_tasks();
  if (task && tasks && *tasks > 1) return {"slurm", *task, *tasks, meets};
  return {};
}

std::vector<TransportInfo> transports() {
  return {
      {"shm", "processes of this host over shared memory", true, {}},
      {"threads", "threads of one process", true, {}},
      module_info("mpi", "messages through an MPI library, MPI_Isend and MPI_Irecv",
                  {"openmpi", "mpich"}),
      module_info("ucx", "messages through UCX, ucp_tag_send_nbx and ucp_tag_recv_nbx", {"ucx"}),
      module_info("grpc", "messages over gRPC streams", {"grpc"}),
      module_info("sim", "ranks of a described cluster in virtual time (SimGrid)", {"sim"})};
}

Outcome run_job(const LaunchOptions& options, const std::function<int(Job&)>& body) {
  require(options.ranks >= 1, "--ranks: {} ranks cannot run; give at least 1", options.ranks);
  require(options.timeout_s > 0, "--timeout: {} s; give a positive time", options.timeout_s);
  const std::string& transport = options.transport;
  if (transport == "shm") return run_local_job(options, local::Fabric::Kind::processes, body);
  if (transport == "threads") return run_local_job(options, local::Fabric::Kind::threads, body);
  if (transport == "sim") return run_simulated_job(options, body);
  require(transport == "mpi" || transport == "ucx" || transport == "grpc",
          "--transport: unknown transport \"{}\"; known: shm, threads, mpi, ucx, grpc, sim",
          transport);
  const LauncherEnvironment launcher = launcher_environment();
  if (!launcher.kind.empty()) return join_job(options, launcher, body);
  return transport == "mpi" ? start_mpi_job(options) : run_module_job(options, body);
}

}  // namespace commtune
