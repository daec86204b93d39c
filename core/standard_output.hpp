#pragma once

namespace commtune {

/// Writes out what was printed. Throws Error(system) when standard output took not all of it: a
/// full disk or a closed pipe must not pass for success.
void flush_standard_output();

}  // namespace commtune
