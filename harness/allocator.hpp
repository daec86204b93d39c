#pragma once
#include <string>

namespace commtune {

/// Keeps freed memory in the process, for this program's buffers and for those that a communication
/// library allocates inside its calls: the first touch of a page costs more than a small collective
/// and would decide which algorithm looks fastest. The same as MALLOC_MMAP_MAX_=0 with an unlimited
/// MALLOC_TRIM_THRESHOLD_. Idempotent; returns what it set, for the record.
std::string keep_freed_memory();

}  // namespace commtune
