// Result files (commtune.result/1), as compare and report read them.
#include "fuzz.hpp"
#include "harness/record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  fuzz::accepts([&] {
    const ResultDocument document =
        result_from_json(parse_json(fuzz::text_of(data, size), "f"), "f");
    for (const Row& row : document.rows) {
      const Json json = to_json(row);
      fuzz::expect(to_json(row_from_json(json, "row")) == json,
                   "a row that is written reads the same");
    }
  });
  return 0;
}
