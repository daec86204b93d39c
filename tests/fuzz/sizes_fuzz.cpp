// Sizes, counts and ranges as they stand in options.
#include "core/sizes.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    const std::uint64_t bytes = parse_size(text, "--size");
    fuzz::expect(parse_size(format_size(bytes), "--size") == bytes, "format_size is exact");
  });
  fuzz::accepts([&] { fuzz::expect(!parse_sizes(text, "--sizes").empty(), "a list has entries"); });
  fuzz::accepts([&] { parse_rank_range(text, "--ranks"); });
  fuzz::accepts([&] {
    fuzz::expect(parse_count(text, "--count") == parse_size(text, "--count"),
                 "a count is a size without a suffix");
  });
  return 0;
}
