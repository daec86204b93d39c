#include "harness/provenance.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/topology.hpp"
#include "harness/allocator.hpp"
#include "harness/proc_texts.hpp"
#include "transports/module.hpp"
#include "transports/placement.hpp"

namespace commtune {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string file_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

std::string kernel() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {} {}", name.sysname, name.release, name.version, name.machine);
}

Json governor() {
  std::string text = file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  text.erase(std::find(text.begin(), text.end(), '\n'), text.end());
  return text_or_null(text);
}

Json build() {
  return {{"version", COMMTUNE_VERSION},
          {"commit", COMMTUNE_COMMIT},
          {"type", COMMTUNE_BUILD_TYPE},
          {"flags", COMMTUNE_BUILD_FLAGS},
          {"compiler", COMMTUNE_COMPILER}};
}

Json topology_to_json(const Topology& topology) {
  return {{"summary", topology.summary},       {"packages", topology.packages},
          {"numa_nodes", topology.numa_nodes}, {"cores", topology.cores},
          {"processors", topology.processors}, {"allowed_processors", topology.allowed_processors},
          {"l1d_bytes", topology.l1d_bytes},   {"l2_bytes", topology.l2_bytes},
          {"l3_bytes", topology.l3_bytes},     {"memory_bytes", topology.memory_bytes}};
}

Json library_to_json(const LoadedLibrary& library) {
  return {{"name", library.name},
          {"version", library.version},
          {"path", library.path},
          {"built_version", library.built_version}};
}

LoadedLibrary library_from_json(const Json& json) {
  return {json.at("name"), json.at("version"), json.at("path"), json.at("built_version")};
}

/// Allocator settings decide whether a library's temporary buffers fault in pages on every call.
std::string malloc_note() {
  std::string note = keep_freed_memory();
  for (const char* variable : {"MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    note += fmt::format(", {}={}", variable, value);
  }
  return note;
}

Json own_placement(Job& job, const Topology& topology) {
  const Placement placement = job.host.empty() ? current_placement() : Placement{};
  const RankPlacement place = job.host.empty() ? own_rank_placement({}) : RankPlacement{};
  Json numa;
  if (placement.numa >= 0) numa = placement.numa;
  return {{"rank", job.rank()},
          {"host", job.host.empty() ? topology.host : job.host},
          {"pid", getpid()},
          {"cpuset", text_or_null(placement.cpuset)},
          {"numa", std::move(numa)},
          {"gpu", nullptr},
          {"library", library_to_json(job.library)},
          {"allowed", topology.allowed},
          {"numa_nodes", place.numa_nodes},
          {"memory_nodes", place.memory_nodes}};
}

/// The numbers before and after the first dot, or all of the text when it does not start so.
std::string major_minor(const std::string& version) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if(version.begin(), version.end(), is_digit);
  auto end = std::find_if_not(begin, version.end(), is_digit);
  if (begin == version.end() || end == version.end() || *end != '.') return version;
  end = std::find_if_not(end + 1, version.end(), is_digit);
  return {begin, end};
}

Json module_path(const Job& job) {
  return text_or_null(find_module("transport_" + std::string(job.transport.name())).string());
}

Json transport_to_json(const Job& job) {
  const Capabilities capabilities = job.transport.capabilities();
  return {{"name", job.transport.name()},
          {"module", module_path(job)},
          {"mapped_memory", capabilities.mapped_memory},
          {"simulated_time", capabilities.simulated_time},
          {"eager_bytes", capabilities.eager_bytes}};
}

}  // namespace

Json select_environment(std::span<const char* const> variables) {
  constexpr std::array<std::string_view, 13> prefixes = {
      "COMMTUNE_GRPC", "COMMTUNE_UCX", "COMMTUNE_REMOTE_READS",
      "OMPI_",         "MPICH_",       "MPIR_",
      "UCX_",          "NCCL_",        "CUDA_",
      "OMP_",          "OPENBLAS_",    "SLURM_",
      "MALLOC_"};
  std::vector<std::string_view> selected;
  for (const std::string_view variable : variables) {
    const bool matters =
        std::any_of(prefixes.begin(), prefixes.end(),
                    [&](std::string_view prefix) { return variable.starts_with(prefix); });
    if (matters && variable.find('=') != std::string_view::npos) selected.push_back(variable);
  }
  std::sort(selected.begin(), selected.end());
  Json environment = Json::object();
  for (const std::string_view variable : selected) {
    const std::size_t equals = variable.find('=');
    environment[std::string(variable.substr(0, equals))] = variable.substr(equals + 1);
  }
  return environment;
}

std::vector<std::string> library_warnings(const std::vector<LoadedLibrary>& ranks) {
  std::vector<std::string> warnings;
  if (ranks.empty()) return warnings;
  const LoadedLibrary& first = ranks.front();
  if (!first.version.empty() && !first.built_version.empty() &&
      major_minor(first.version) != major_minor(first.built_version)) {
    warnings.push_back(fmt::format("built against {} {}, but {} is loaded from {}", first.name,
                                   first.built_version, first.version, first.path));
  }
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const LoadedLibrary& other = ranks[rank];
    if (other.name == first.name && other.version == first.version && other.path == first.path) {
      continue;
    }
    warnings.push_back(fmt::format("rank {} loaded {} {} from {}, rank 0 loaded {} {} from {}",
                                   rank, other.name, other.version, other.path, first.name,
                                   first.version, first.path));
  }
  return warnings;
}

Topology topology_for(const Job& job) {
  const bool known = job.transport.capabilities().simulated_time && job.rank() != 0;
  return known ? Topology{} : discover_topology();
}

Json describe_run(Job& job, const RunOptions& options, const ClockMap& clocks) {
  Topology topology = topology_for(job);
  std::set<int> allowed;  // of all ranks here: a bound rank alone sees only its own processors
  Json ranks = Json::array(), hosts = Json::array();
  std::vector<std::string> host_of;
  std::set<std::string> named;
  std::vector<LoadedLibrary> libraries;
  std::vector<RankPlacement> placed;
  for (const std::string& text :
       gather_string(job.bootstrap, own_placement(job, topology).dump())) {
    Json rank = parse_json(text, "placement of a rank");
    libraries.push_back(library_from_json(rank["library"]));
    rank.erase("library");
    if (rank["host"] == topology.host) {
      for (const Json& processor : rank["allowed"]) allowed.insert(processor.get<int>());
    }
    if (job.host.empty()) {
      placed.push_back({rank["host"], rank["allowed"], rank["numa_nodes"], rank["memory_nodes"]});
    }
    for (const char* const known : {"allowed", "numa_nodes"}) rank.erase(known);
    host_of.push_back(rank["host"].get<std::string>());
    if (named.insert(host_of.back()).second) hosts.push_back(rank["host"]);
    ranks.push_back(std::move(rank));
  }
  if (!allowed.empty()) topology.allowed_processors = static_cast<int>(allowed.size());
  std::size_t variables = 0;
  while (environ[variables] != nullptr) ++variables;
  Json run = Json::object();
  run["argv"] = options.argv;
  run["started"] = utc_now();
  run["hosts"] = std::move(hosts);
  run["label"] = text_or_null(options.label);
  run["build"] = build();
  run["kernel"] = kernel();
  run["cpu"] = text_or_null(processor_model(file_text("/proc/cpuinfo")));
  run["governor"] = governor();
  run["topology"] = topology_to_json(topology);
  run["ranks"] = std::move(ranks);
  run["transport"] = transport_to_json(job);
  run["library"] = libraries.empty() || libraries.front().name.empty()
                       ? Json()
                       : library_to_json(libraries.front());
  run["environment"] = select_environment({environ, variables});
  run["malloc"] = malloc_note();
  run["seed"] = options.seed;
  run.update(describe_clocks(clocks, host_of));
  std::vector<std::string> warnings = library_warnings(libraries);
  run["placement"] = Json::array();
  for (const PlacementFinding& finding : judge_placement(placed)) {
    run["placement"].push_back(finding.flag);
    warnings.push_back(finding.text);
  }
  warnings.insert(warnings.end(), options.warnings.begin(), options.warnings.end());
  run["warnings"] = std::move(warnings);
  return run;
}

}  // namespace commtune
