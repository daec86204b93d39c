#include "core/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/error.hpp"

namespace commtune {

void flush_standard_output() {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) return;
  const int reason = errno;
  fail(Errc::system, "cannot write to standard output: {}",
       reason != 0 ? std::strerror(reason) : "closed");
}

}  // namespace commtune
