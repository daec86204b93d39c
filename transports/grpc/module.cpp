#include "transports/module.hpp"

#include <dlfcn.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/version_info.h>

#include "transports/grpc/grpc_transport.hpp"

namespace commtune::grpc {
namespace {

LoadedLibrary identify() {
  LoadedLibrary library{"grpc", ::grpc::Version(), {}, GRPC_CPP_VERSION_STRING};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&::grpc::Version), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return library;
}

class Runtime final : public TransportModule::Runtime {
 public:
  explicit Runtime(const RuntimeContext& context) : transport_(context) {}
  Transport& transport() override { return transport_; }
  LoadedLibrary library() const override { return identify(); }

 private:
  GrpcTransport transport_;
};

constexpr TransportModule module{
    TransportModule::current_abi,
    "grpc",
    identify,
    nullptr,
    [](const RuntimeContext& context) -> std::unique_ptr<TransportModule::Runtime> {
      return std::make_unique<Runtime>(context);
    },
    nullptr};

}  // namespace
}  // namespace commtune::grpc

extern "C" const commtune::TransportModule* commtune_transport_module() {
  return &commtune::grpc::module;
}
