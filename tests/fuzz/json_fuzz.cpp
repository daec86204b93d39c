// JSON texts, and what StrictObject says about a wrong one.
#include "core/json.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  fuzz::accepts([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "f");
    fuzz::expect(parse_json(json.dump(), "f") == json, "what is written reads the same");
    for (const char* key : {"a", "b"}) {
      fuzz::accepts([&] { StrictObject(json, "f").string(key); });
      fuzz::accepts([&] { StrictObject(json, "f").number(key); });
      fuzz::accepts([&] { StrictObject(json, "f").count(key); });
      fuzz::accepts([&] { StrictObject(json, "f").boolean(key); });
    }
    fuzz::accepts([&] { StrictObject(json, "f").finish(); });
  });
  return 0;
}
