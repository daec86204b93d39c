// Traces as files, plain and gzip: recognising them, the Kineto importer, and workloads as files.
#include <sys/mman.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "dnn_proxy/importers/importer.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  static const Descriptor file(memfd_create("trace", MFD_CLOEXEC));
  if (ftruncate(file.fd(), 0) != 0 ||
      pwrite(file.fd(), data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  const std::string path = fmt::format("/proc/self/fd/{}", file.fd());
  fuzz::accepts([&] {
    const Import import = import_trace(path);
    validate(import.workload, path);
    fuzz::expect(import.conservation.conserved(), "nothing is lost");
    format_workload(import.workload);
  });
  fuzz::accepts([&] { read_workload(path); });
  return 0;
}
