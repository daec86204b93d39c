#include "core/json.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

constexpr int max_depth = 256;

/// Reads characters and records how far the parser got, which its callbacks do not tell.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* consumed_;
};

/// The part of a library message after its "[json.exception...] " tag.
std::string_view untagged(std::string_view message) {
  const auto end = message.find("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    fail(Errc::usage, "{}: cannot open: {}", path.string(), std::strerror(errno));
  }
  std::string text;
  constexpr std::size_t chunk = std::size_t{1} << 16;
  while (true) {
    const std::size_t filled = text.size();
    text.resize(filled + chunk);
    const auto got = ::read(file.fd(), text.data() + filled, chunk);
    if (got < 0 && errno != EINTR) {
      fail(Errc::usage, "{}: cannot read: {}", path.string(), std::strerror(errno));
    }
    text.resize(filled + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
  }
}

void write_all(Descriptor& file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const auto put = ::write(file.fd(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(Errc::system, "{}: cannot write: {}", path.string(), std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (file.close() != 0) {
    fail(Errc::system, "{}: cannot write: {}", path.string(), std::strerror(errno));
  }
}

/// A new file in the same folder, removed again unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& beside) : file_(open_beside(beside, path_)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  bool opened() const noexcept { return !path_.empty(); }
  Descriptor& file() noexcept { return file_; }
  bool rename_to(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  /// Sets `path` on success; errno tells why not.
  static int open_beside(const std::filesystem::path& beside, std::filesystem::path& path) {
    constexpr int attempts = 1000;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      auto candidate =
          beside.parent_path() / fmt::format(".commtune-{}-{}.tmp", ::getpid(), attempt);
      const int fd = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) path = std::move(candidate);
      if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
  }

  std::filesystem::path path_;
  Descriptor file_;
};

enum class Target { absent, file, directory, special };

/// What `path` leads to; errno is set and `absent` returned when that cannot be told.
Target target_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Target::absent;
  if (S_ISDIR(status.st_mode)) return Target::directory;
  return S_ISREG(status.st_mode) ? Target::file : Target::special;
}

/// Renaming over a symbolic link would replace the link, so follow it first.
std::filesystem::path resolved(const std::filesystem::path& path) {
  std::error_code error;
  auto real = std::filesystem::canonical(path, error);
  return error ? path : real;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source) {
  std::size_t consumed = 0;
  std::vector<std::unordered_set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth > max_depth) {
      fail(Errc::usage, "{}: byte {}: nested deeper than {} levels", source, consumed, max_depth);
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(value.get_ref<const std::string&>()).second) {
      fail(Errc::usage, "{}: byte {}: duplicate key {}", source, consumed, value.dump());
    }
    return true;
  };
  try {
    return Json::parse(CountingIterator(text.data(), &consumed),
                       CountingIterator(text.data() + text.size(), &consumed), watch);
  } catch (const Json::parse_error& error) {
    fail(Errc::usage, "{}: byte {}: {}", source, error.byte, untagged(error.what()));
  } catch (const Json::exception& error) {
    fail(Errc::usage, "{}: byte {}: {}", source, consumed, untagged(error.what()));
  }
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

void write_json_atomically(const std::filesystem::path& path, const Json& value) {
  write_text_atomically(path, value.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
}

void write_text_atomically(const std::filesystem::path& path, std::string_view text) {
  if (target_of(path) == Target::special) {
    Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!device) {
      fail(Errc::system, "{}: cannot open: {}", path.string(), std::strerror(errno));
    }
    write_all(device, text, path);
    return;
  }
  const auto target = resolved(path);
  TemporaryFile temporary(target);
  if (!temporary.opened()) {
    fail(Errc::system, "{}: cannot create a file beside it: {}", path.string(),
         std::strerror(errno));
  }
  write_all(temporary.file(), text, path);
  if (!temporary.rename_to(target)) {
    fail(Errc::system, "{}: cannot replace: {}", path.string(), std::strerror(errno));
  }
}

void require_writable(const std::filesystem::path& path, std::string_view option) {
  require(path.has_filename(), "{}: \"{}\" does not name a file", option, path.string());
  errno = 0;
  const Target target = target_of(path);
  require(target != Target::directory, "{}: \"{}\" is a directory; name a file in it", option,
          path.string());
  require(target != Target::absent || errno == ENOENT, "{}: cannot write \"{}\": {}", option,
          path.string(), std::strerror(errno));
  if (target == Target::special) {
    require(::access(path.c_str(), W_OK) == 0, "{}: cannot write \"{}\": {}", option, path.string(),
            std::strerror(errno));
    return;
  }
  const TemporaryFile probe(resolved(path));
  require(probe.opened(), "{}: cannot write \"{}\": {}", option, path.string(),
          std::strerror(errno));
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace commtune
