#include "transports/identify.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "transports/module.hpp"
#include "transports/rank_body.hpp"

namespace commtune {
namespace {

constexpr char separator = '\0';

std::string describe_in_this_process(const std::string& name) {
  LoadedLibrary library;
  const RankResult result = run_guarded([&] {
    library = transport_module(name).identify();
    return 0;
  });
  std::string text;
  for (const std::string& field :
       {result.message, library.name, library.version, library.path, library.built_version}) {
    text += field + separator;
  }
  return text;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

LoadedLibrary identify_runtime(const std::string& name) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) fail(Errc::system, "pipe: {}", std::strerror(errno));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) fail(Errc::system, "fork: {}", std::strerror(errno));
  if (pid == 0) {
    const std::string text = describe_in_this_process(name);
    const ssize_t written = write(writer.fd(), text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  writer.close();
  const std::string text = read_all(reader.fd());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (fields.size() != 5) {
    fail(Errc::unavailable, "the module transport_{} ended the process that loaded it ({} {})",
         name, WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  if (!fields[0].empty()) fail(Errc::unavailable, "{}", fields[0]);
  return {fields[1], fields[2], fields[3], fields[4]};
}

}  // namespace commtune
