#include "harness/allocator.hpp"

#include <malloc.h>

namespace commtune {

std::string keep_freed_memory() {
  const bool kept = mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1;
  return kept ? "mmap_max=0, trim_threshold=max, set by the program" : "defaults of the C library";
}

}  // namespace commtune
