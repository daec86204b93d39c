#include "collectives/exchange/plugin.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace commtune {
namespace {

constexpr const char* entry_point = "commtune_algorithm_plugin";

void require_same_headers(const AlgorithmPlugin& plugin, const std::string& what) {
  // Only `abi` lies at the same place whatever headers the plug-in was built with.
  require(plugin.abi == AlgorithmPlugin::current_abi,
          "{}: built for plug-in ABI {}, this program has {}: build it again with the headers of "
          "this program",
          what, plugin.abi, AlgorithmPlugin::current_abi);
  const AlgorithmPlugin own;
  require(plugin.algorithm_bytes == own.algorithm_bytes &&
              plugin.schedule_bytes == own.schedule_bytes &&
              plugin.builder_bytes == own.builder_bytes && plugin.params_bytes == own.params_bytes,
          "{}: its types differ in size from those of this program: build it again with the "
          "headers and the C++ library of this program",
          what);
}

}  // namespace

std::vector<const Algorithm*> load_plugin(const std::filesystem::path& file,
                                          const std::string& what) {
  std::error_code problem;
  // A name without a folder would be looked for in the folders of libraries.
  const std::filesystem::path path = std::filesystem::absolute(file, problem);
  if (problem || !std::filesystem::exists(path, problem)) {
    fail(Errc::unavailable, "{}: no such file", what);
  }
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(Errc::unavailable, "{}: cannot be loaded: {}", what, dlerror());
  void* const address = dlsym(handle, entry_point);
  require(address != nullptr, "{}: does not export {}: it is not a plug-in with algorithms", what,
          entry_point);
  const auto describe = reinterpret_cast<const AlgorithmPlugin* (*)()>(address);
  const AlgorithmPlugin* const plugin = describe();
  require(plugin != nullptr, "{}: {} returns nothing", what, entry_point);
  require_same_headers(*plugin, what);
  require(!plugin->algorithms.empty(), "{}: has no algorithms", what);
  std::vector<const Algorithm*> added;
  for (const Algorithm* const algorithm : plugin->algorithms) {
    require(algorithm != nullptr, "{}: algorithm {} of its list is null", what, added.size());
    add_algorithm({std::shared_ptr<void>(), algorithm}, what);
    added.push_back(algorithm);
  }
  return added;
}

}  // namespace commtune
