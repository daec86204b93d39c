#include <CLI/Version.hpp>
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <hwloc.h>
#include <link.h>
#include <memory>

#include "collectives/libraries/library.hpp"
#include "commands/command.hpp"
#include "commands/limits.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "core/sizes.hpp"
#include "core/topology.hpp"
#include "devices/host/gemm.hpp"
#include "microbench/memory.hpp"
#include "transports/identify.hpp"
#include "transports/job.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

/// Path of the mapped file whose name starts with `prefix`; empty when none is.
std::string mapped_file(const std::string& prefix) {
  struct Search {
    const std::string& prefix;
    std::string found;
  } search{prefix, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string path = file->dlpi_name;
        const std::string base = path.substr(path.rfind('/') + 1);
        if (base.rfind(wanted.prefix, 0) == 0) wanted.found = path;
        return wanted.found.empty() ? 0 : 1;
      },
      &search);
  return search.found;
}

Json library(const std::string& version, const std::string& file_prefix) {
  const std::string path = mapped_file(file_prefix);
  return {{"version", version}, {"path", path.empty() ? Json("in the program") : Json(path)}};
}

/// The library behind a transport's module, or why there is none.
Json runtime_library(const std::string& name) {
  if (find_module("transport_" + name).empty()) {
    return {{"version", nullptr}, {"path", "missing: not in this build"}};
  }
  try {
    const LoadedLibrary library = identify_runtime(name);
    Json json{{"version", library.version}, {"path", library.path}};
    if (!library.built_version.empty() && library.built_version != library.version) {
      json["version"] = fmt::format("{} (headers {})", library.version, library.built_version);
    }
    return json;
  } catch (const Error& error) {
    return {{"version", nullptr}, {"path", fmt::format("missing: {}", error.what())}};
  }
}

/// Gloo has no call that tells its version: that of the headers it was built with stands in.
Json gloo_library() {
  try {
    const LoadedLibrary gloo = identify_library("gloo");
    if (gloo.path.empty()) return {{"version", nullptr}, {"path", "missing: not in this build"}};
    const std::string version = fmt::format("{} (headers {})", gloo.version, gloo.built_version);
    return {{"version", version}, {"path", gloo.path}};
  } catch (const Error& error) {
    return {{"version", nullptr}, {"path", fmt::format("missing: {}", error.what())}};
  }
}

Json describe_topology() {
  const Topology topology = discover_topology();
  const Placement placement = current_placement();
  return {{"host", topology.host},
          {"summary", topology.summary},
          {"allowed_processors", topology.allowed_processors},
          {"cpuset", placement.cpuset},
          {"l1d_bytes", topology.l1d_bytes},
          {"l2_bytes", topology.l2_bytes},
          {"l3_bytes", topology.l3_bytes},
          {"memory_bytes", topology.memory_bytes},
          {"memory_available_bytes", available_memory()}};
}

Json describe_transports() {
  Json all = Json::object();
  for (const TransportInfo& transport : transports()) {
    const std::string state = transport.available ? "available" : "missing";
    all[transport.name] =
        transport.reason.empty() ? state : fmt::format("{}: {}", state, transport.reason);
  }
  return all;
}

Json describe_libraries() {
  const unsigned hwloc = hwloc_get_api_version();
  const std::string hwloc_version =
      fmt::format("{}.{}.{}", hwloc >> 16U, (hwloc >> 8U) & 0xffU, hwloc & 0xffU);
  return {{"hwloc", library(hwloc_version, "libhwloc")},
          {"openblas", library(blas_version(), "libopenblas")},
          {"openmpi", runtime_library("openmpi")},
          {"mpich", runtime_library("mpich")},
          {"ucx", runtime_library("ucx")},
          {"grpc", runtime_library("grpc")},
          {"sim", runtime_library("sim")},
          {"gloo", gloo_library()},
          {"fmt", library(fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                                      FMT_VERSION % 100),
                          "libfmt")},
          {"nlohmann_json",
           library(fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH),
                   "(header)")},
          {"cli11", library(CLI11_VERSION, "(header)")}};
}

Json describe_limits() {
  const HostLimits limits = host_limits();
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"open_files", limits.open_files},
          {"shared_memory_bytes", or_null(limits.shared_memory_bytes)},
          {"shared_memory_free_bytes", or_null(limits.shared_memory_free_bytes)},
          {"processes", or_null(limits.processes)},
          {"processes_from", limits.processes_from}};
}

Json describe_launcher() {
  const LauncherEnvironment launcher = launcher_environment();
  const auto path_of = [](const char* program) {
    const std::string path = find_program(program);
    return path.empty() ? Json(nullptr) : Json(path);
  };
  return {{"started_by", launcher.kind.empty() ? Json(nullptr) : Json(launcher.kind)},
          {"ranks", launcher.size},
          {"mpirun", path_of("mpirun")},
          {"srun", path_of("srun")}};
}

Json describe_build() {
  return {{"version", COMMTUNE_VERSION},
          {"type", COMMTUNE_BUILD_TYPE},
          {"compiler", COMMTUNE_COMPILER},
          {"program", self_path()}};
}

std::string text_of(const std::string& key, const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  const bool bytes = key.size() > 6 && key.compare(key.size() - 6, 6, "_bytes") == 0;
  if (bytes && value.is_number_unsigned()) {
    const auto count = value.get<std::uint64_t>();
    return count % (1U << 20U) != 0 && count < 8U << 20U ? fmt::format("{} KiB", count >> 10U)
                                                         : fmt::format("{} MiB", count >> 20U);
  }
  return value.dump();
}

void print_section(const Json& section, std::size_t indent) {
  for (const auto& [key, value] : section.items()) {
    if (value.is_object() && value.contains("path")) {
      fmt::print("{:{}}{:<26} {}, {}\n", "", indent, key, text_of("", value["version"]),
                 text_of("", value["path"]));
    } else if (value.is_object()) {
      fmt::print("{:{}}{}\n", "", indent, key);
      print_section(value, indent + 2);
    } else {
      fmt::print("{:{}}{:<26} {}\n", "", indent, key, text_of(key, value));
    }
  }
}

int run_info(bool json) {
  Json info = Json::object();
  info["topology"] = describe_topology();
  info["transports"] = describe_transports();
  info["devices"] = {{"host", "available"}, {"cuda", "missing: not in this build"}};
  info["libraries"] = describe_libraries();
  info["launcher"] = describe_launcher();
  info["limits"] = describe_limits();
  info["build"] = describe_build();
  if (json) {
    fmt::print("{}\n", info.dump(2));
  } else {
    print_section(info, 0);
  }
  return exit_ok;
}

std::function<int()> add_info(CLI::App& app, const std::vector<std::string>&) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "as one object");
  return [json] { return run_info(*json); };
}

}  // namespace

extern const Command command_info{
    "info", "topology, transports, library versions, limits of this host", add_info};

}  // namespace commtune
