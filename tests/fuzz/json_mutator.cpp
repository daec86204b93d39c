// Changes of JSON texts, one text or one a line, that leave them JSON: most bytes changed at random
// only show that the grammar is checked.
#include <array>
#include <random>
#include <vector>

#include "core/json.hpp"
#include "fuzz.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using commtune::Json;
using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t limit) { return random() / 7 % limit; }

void collect(Json& json, std::vector<Json*>& values) {
  values.push_back(&json);
  if (json.is_structured())
    for (Json& value : json) collect(value, values);
}

Json strange_value(Random& random) {
  static const std::array<Json, 24> values{Json(),
                                           Json(true),
                                           Json(0U),
                                           Json(1U),
                                           Json(2U),
                                           Json(-1),
                                           Json(1U << 20),
                                           Json(1U << 31),
                                           Json(1ULL << 50),
                                           Json(1ULL << 53),
                                           Json(1ULL << 62),
                                           Json(INT64_MAX),
                                           Json(INT64_MIN),
                                           Json(UINT64_MAX),
                                           Json(0.5),
                                           Json(-0.5),
                                           Json(1e300),
                                           Json(""),
                                           Json("0"),
                                           Json("18446744073709551615"),
                                           Json("[0, 1, ...]"),
                                           Json("a\nb"),
                                           Json::array(),
                                           Json::object()};
  return values[below(random, values.size())];
}

void change(Json& document, Random& random) {
  std::vector<Json*> values;
  collect(document, values);
  Json& value = *values[below(random, values.size())];
  const bool full = value.is_structured() && !value.empty();
  switch (below(random, 5)) {
    case 0:
      value = strange_value(random);
      return;
    case 1:
      value = Json(*values[below(random, values.size())]);
      return;
    case 2:
      if (full)
        value.erase(std::next(value.begin(), static_cast<long>(below(random, value.size()))));
      return;
    case 3:
      if (full && value.is_array()) value.push_back(Json(value[below(random, value.size())]));
      return;
    default:
      if (value.is_number_unsigned()) value = value.get<std::uint64_t>() + 1 - 2 * below(random, 2);
      if (value.is_string()) value = value.get<std::string>() + value.get<std::string>();
      return;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  Random random(seed);
  if (below(random, 4) == 0) return LLVMFuzzerMutate(data, size, most);
  std::string text(commtune::fuzz::text_of(data, size));
  std::size_t begin = 0, end = text.size();
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    begin = text.rfind('\n', below(random, size + 1)) + 1;
    end = std::min(text.find('\n', begin), size);
    document = Json::parse(text.substr(begin, end - begin), nullptr, false);
  }
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  change(document, random);
  text.replace(begin, end - begin, document.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
