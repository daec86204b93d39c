#include "core/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/error.hpp"

namespace commtune {

void flush_standard_output() {
  std::cout.flush();
  if (std::fflush(stdout) != 0) {
    fail(Errc::system, "cannot write to standard output: {}", std::strerror(errno));
  }
  if (std::ferror(stdout) != 0 || !std::cout.good()) {
    fail(Errc::system, "standard output took not all that was printed: closed pipe or full disk");
  }
}

}  // namespace commtune
