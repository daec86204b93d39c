#include <fmt/format.h>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

std::string describe(const Params& params, std::string_view tunables) {
  std::string text;
  const auto add = [&](std::string_view knob, const auto& value) {
    if (tunables.find(knob) != std::string_view::npos) text += fmt::format(" {}={}", knob, value);
  };
  add("segments", params.segments);
  add("radix", params.radix);
  add("channels", params.channels);
  add("leaders", params.leaders);
  add("group", params.group);
  add("cluster", params.cluster);
  add("intra", params.intra);
  add("inter", params.inter);
  return text;
}

}  // namespace commtune
