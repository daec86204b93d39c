// Gloo's collectives over its own TCP connections, beside whatever transport the job has.
#include "collectives/libraries/library.hpp"

#include <cstring>
#include <dlfcn.h>
#include <gloo/config.h>

#include "collectives/libraries/gloo/context.hpp"
#include "collectives/libraries/gloo/operations.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// Gloo has no call that tells its version, so `version` is unknown; the headers' is in
/// `built_version`.
LoadedLibrary gloo_identity() {
  LoadedLibrary identity{.name = "gloo",
                         .version = "unknown",
                         .path = "",
                         .built_version = fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR,
                                                      GLOO_VERSION_MINOR, GLOO_VERSION_PATCH)};
  Dl_info info{};
  void (*const function)(const gloo::AllreduceOptions&) = gloo::allreduce;
  if (dladdr(reinterpret_cast<void*>(function), &info) != 0 && info.dli_fname != nullptr) {
    identity.path = info.dli_fname;
  }
  return identity;
}

GlooAlgorithm algorithm_named(std::string_view name) {
  if (name == "ring") return GlooAlgorithm::RING;
  if (name == "bcube") return GlooAlgorithm::BCUBE;
  require(name.empty(), "gloo/{}: Gloo has no such algorithm; valid: ring, bcube", name);
  return GlooAlgorithm::UNSPECIFIED;
}

class GlooLibrary final : public Library {
 public:
  GlooLibrary(const Job& job, GlooAlgorithm algorithm)
      : context_(connect_gloo(job)), algorithm_(algorithm) {}

  std::string name() const override { return "gloo"; }
  LoadedLibrary identity() const override { return gloo_identity(); }
  std::string unsupported(const Call& call) const override {
    return gloo_unsupported(call, algorithm_);
  }
  bool result_at_front(Collective) const override { return false; }
  std::unique_ptr<Operation> prepare(const Call& call) override {
    return gloo_operation(context_, call, algorithm_);
  }
  std::string observed_algorithm(Collective collective) const override {
    if (collective != Collective::allreduce) return "";
    // The ring is what Gloo takes when it is not told.
    return algorithm_ == GlooAlgorithm::BCUBE ? "bcube" : "ring";
  }

 private:
  std::shared_ptr<gloo::Context> context_;
  GlooAlgorithm algorithm_;
};

}  // namespace
}  // namespace commtune

extern "C" {

commtune::Library* commtune_open_library(const commtune::Job& job, const char* algorithm) {
  return new commtune::GlooLibrary(job, commtune::algorithm_named(algorithm));
}

void commtune_identify_library(commtune::LoadedLibrary* identity) {
  *identity = commtune::gloo_identity();
}
}
