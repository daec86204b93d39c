#include "transports/module.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <system_error>

#include "core/error.hpp"
#include "core/process.hpp"

namespace commtune {

namespace {

/// COMMTUNE_MODULE_PATH (folders separated by ':'), then `modules` beside the program and beside
/// the program's folder.
std::vector<std::filesystem::path> module_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* const path = std::getenv("COMMTUNE_MODULE_PATH")) {
    const std::string_view text(path);
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) folders.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  const std::filesystem::path program = std::filesystem::path(self_path()).parent_path();
  folders.push_back(program / "modules");
  folders.push_back(program.parent_path() / "modules");
  return folders;
}

}  // namespace

std::filesystem::path find_module(const std::string& name) {
  for (const auto& folder : module_folders()) {
    std::error_code ignored;
    auto file = folder / ("commtune_" + name + ".so");
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return {};
}

void* load_module(const std::string& name, const char* symbol) {
  const std::filesystem::path file = find_module(name);
  if (file.empty()) {
    std::string looked;
    for (const auto& folder : module_folders())
      looked += (looked.empty() ? "" : ", ") + folder.string();
    fail(
        Errc::unavailable,
        "the module commtune_{}.so is not in {}: it was left out when this program was configured, "
        "by request or because its library was not found; build it or set COMMTUNE_MODULE_PATH",
        name, looked);
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) fail(Errc::unavailable, "cannot load {}: {}", file.string(), dlerror());
  void* const address = dlsym(handle, symbol);
  if (address == nullptr) {
    fail(Errc::unavailable, "{} does not export {}: it is not a commtune module", file.string(),
         symbol);
  }
  return address;
}

const TransportModule& transport_module(const std::string& name) {
  using Entry = const TransportModule* (*)();
  const std::string file = "transport_" + name;
  const auto entry = reinterpret_cast<Entry>(load_module(file, "commtune_transport_module"));
  const TransportModule* const module = entry();
  if (module->abi != TransportModule::current_abi) {
    fail(Errc::unavailable, "{} has interface version {}, this program needs {}: build it again",
         find_module(file).string(), module->abi, TransportModule::current_abi);
  }
  return *module;
}

}  // namespace commtune
