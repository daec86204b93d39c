// A parser that is broken on purpose: the check must find it, or it finds nothing.
#include <charconv>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = commtune::fuzz::text_of(data, size);
  if (text.size() < 4 || !text.starts_with("lane")) return 0;
  const char* const past_the_end = text.data() + text.size() + 1;
  int lane = 0;
  std::from_chars(text.data() + 4, past_the_end, lane);
  return 0;
}
