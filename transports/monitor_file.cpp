#include "transports/monitor_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/error.hpp"
#include "transports/secret.hpp"

namespace commtune {

namespace {
std::size_t file_bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(MonitorSlot); }
}  // namespace

MonitorFile::MonitorFile(int ranks) {
  const std::string name = "commtune-monitor-" + random_secret();
  file_ = Descriptor(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file_ || ftruncate(file_.fd(), static_cast<off_t>(file_bytes(ranks))) != 0 ||
      !map(file_.fd(), ranks)) {
    fail(Errc::system, "cannot create the memory that watches {} ranks: {}", ranks,
         std::strerror(errno));
  }
  for (MonitorSlot& slot : slots_) new (&slot) MonitorSlot{};
  address_ = fmt::format("{}:{}:{}", getpid(), file_.fd(), name);
}

MonitorFile::MonitorFile(const std::string& address, int ranks) noexcept {
  const std::size_t first = address.find(':');
  const std::size_t second = first == std::string::npos ? first : address.find(':', first + 1);
  if (second == std::string::npos) return;
  // On another host the same numbers are some other file: only the name tells.
  const std::filesystem::path path = std::filesystem::path("/proc") / address.substr(0, first) /
                                     "fd" / address.substr(first + 1, second - first - 1);
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error || target != "/memfd:" + address.substr(second + 1) + " (deleted)") return;
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat information {};
  if (!file || fstat(file.fd(), &information) != 0) return;
  if (information.st_size != static_cast<off_t>(file_bytes(ranks))) return;
  map(file.fd(), ranks);
}

MonitorFile::~MonitorFile() {
  if (!slots_.empty()) munmap(slots_.data(), slots_.size_bytes());
}

bool MonitorFile::map(int fd, int ranks) noexcept {
  void* const address = mmap(nullptr, file_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return false;
  slots_ = {static_cast<MonitorSlot*>(address), static_cast<std::size_t>(ranks)};
  return true;
}

}  // namespace commtune
