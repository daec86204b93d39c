#pragma once
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace commtune {

/// What went wrong, in terms a caller can act on.
enum class Errc {
  usage,         ///< bad input, refused before anything ran (exit status 2)
  unavailable,   ///< something the run needs is not here: no MPI, no GPU (exit status 3)
  peer,          ///< another rank failed, disappeared or disagreed (exit status 4)
  timeout,       ///< no progress within the limit (exit status 4)
  system,        ///< an operating-system call failed (exit status 3)
  wrong_result,  ///< measured or loaded data is wrong (exit status 1)
};

/// The only exception type this project throws. The message says what failed, which value, what to
/// do.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Errc code() const noexcept { return code_; }

 private:
  Errc code_;
};

/// Exit statuses of the program; `docs/measuring.md` lists what leads to each.
enum ExitStatus : int {
  exit_ok = 0,
  exit_measured_failure = 1,
  exit_usage = 2,
  exit_unavailable = 3,
  exit_rank_lost = 4,
};

constexpr int exit_status(Errc code) noexcept {
  switch (code) {
    case Errc::usage:
      return exit_usage;
    case Errc::unavailable:
    case Errc::system:
      return exit_unavailable;
    case Errc::peer:
    case Errc::timeout:
      return exit_rank_lost;
    case Errc::wrong_result:
      return exit_measured_failure;
  }
  return exit_measured_failure;
}

template <class... Args>
[[noreturn]] void fail(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

/// Throws Error(usage) unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(Errc::usage, text, std::forward<Args>(args)...);
}

}  // namespace commtune
