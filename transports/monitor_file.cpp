#include "transports/monitor_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace commtune {

namespace {
std::size_t file_bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(MonitorSlot); }
}  // namespace

MonitorFile::MonitorFile(int ranks) : owner_(true) {
  std::string name = (std::filesystem::temp_directory_path() / "commtune-monitor-XXXXXX").string();
  const Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (!file) fail(Errc::system, "cannot create {}: {}", name, std::strerror(errno));
  path_ = name;
  if (ftruncate(file.fd(), static_cast<off_t>(file_bytes(ranks))) != 0 || !map(file.fd(), ranks)) {
    const int error = errno;
    unlink(path_.c_str());
    fail(Errc::system, "cannot map {}: {}", name, std::strerror(error));
  }
  for (MonitorSlot& slot : slots_) new (&slot) MonitorSlot{};
}

MonitorFile::MonitorFile(const std::filesystem::path& path, int ranks) noexcept {
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat information {};
  if (!file || fstat(file.fd(), &information) != 0) return;
  if (information.st_size != static_cast<off_t>(file_bytes(ranks))) return;
  map(file.fd(), ranks);
}

MonitorFile::~MonitorFile() {
  if (!slots_.empty()) munmap(slots_.data(), slots_.size_bytes());
  if (owner_) unlink(path_.c_str());
}

bool MonitorFile::map(int fd, int ranks) noexcept {
  void* const address = mmap(nullptr, file_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return false;
  slots_ = {static_cast<MonitorSlot*>(address), static_cast<std::size_t>(ranks)};
  return true;
}

}  // namespace commtune
