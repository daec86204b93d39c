#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/error.hpp"

namespace commtune::fuzz {

/// The input of LLVMFuzzerTestOneInput.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(data), size);
}
inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

/// Runs `parse`; true when it returned, false when it threw Error, which is how a parser refuses.
/// Any other exception ends the program: a finding.
template <class Parse>
bool accepts(const Parse& parse) {
  try {
    parse();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A property that does not hold is a finding.
inline void expect(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "property does not hold: %.*s\n", static_cast<int>(property.size()),
               property.data());
  std::abort();
}

}  // namespace commtune::fuzz
