#include <cstdlib>
#include <dlfcn.h>

#include "core/error.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace commtune::ucx {
namespace {

LoadedLibrary identify() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  LoadedLibrary library{"ucx",
                        fmt::format("{}.{}.{}", major, minor, release),
                        {},
                        fmt::format("{}.{}", UCP_API_MAJOR, UCP_API_MINOR)};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&ucp_get_version), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return library;
}

/// COMMTUNE_UCX=tag|am
bool uses_active_messages() {
  const char* const value = std::getenv("COMMTUNE_UCX");
  const std::string_view text = value == nullptr ? "tag" : value;
  require(text == "tag" || text == "am", "COMMTUNE_UCX={}: must be tag or am", text);
  return text == "am";
}

class Runtime final : public TransportModule::Runtime {
 public:
  explicit Runtime(const RuntimeContext& context)
      : transport_(uses_active_messages() ? make_am_transport(context)
                                          : make_tag_transport(context)) {}
  Transport& transport() override { return *transport_; }
  LoadedLibrary library() const override { return identify(); }

 private:
  std::unique_ptr<Transport> transport_;
};

constexpr TransportModule module{
    TransportModule::current_abi,
    "ucx",
    identify,
    nullptr,
    [](const RuntimeContext& context) -> std::unique_ptr<TransportModule::Runtime> {
      return std::make_unique<Runtime>(context);
    },
    nullptr};

}  // namespace
}  // namespace commtune::ucx

extern "C" const commtune::TransportModule* commtune_transport_module() {
  return &commtune::ucx::module;
}
