#include "transports/binding.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.hpp"
#include "core/topology.hpp"

namespace commtune {
namespace {

constexpr int most_processors = 1 << 16;

[[noreturn]] void refuse(const std::string& text) {
  fail(Errc::usage,
       "--bind '{}': neither core, numa, none nor a list of processors such as 0,2,4-6", text);
}

int number(std::string_view word, const std::string& text) {
  int value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, problem] = std::from_chars(word.data(), last, value);
  if (problem != std::errc{} || end != last || value < 0 || value >= most_processors) refuse(text);
  return value;
}

}  // namespace

RankBinding parse_binding(const std::string& text) {
  if (text.empty()) return {};
  if (text == "none") return {RankBinding::Kind::none, {}};
  if (text == "core") return {RankBinding::Kind::core, {}};
  if (text == "numa") return {RankBinding::Kind::numa, {}};
  RankBinding binding{RankBinding::Kind::list, {}};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = std::string_view(text).substr(begin, end - begin);
    const std::size_t dash = item.find('-');
    const int low = number(item.substr(0, dash), text);
    const int high = dash == std::string_view::npos ? low : number(item.substr(dash + 1), text);
    if (high < low) refuse(text);
    require(binding.processors.size() + static_cast<std::size_t>(high - low) <
                static_cast<std::size_t>(most_processors),
            "--bind: the list names more than {} processors", most_processors);
    for (int each = low; each <= high; ++each) binding.processors.push_back(each);
    begin = end + 1;
  }
  return binding;
}

void apply_binding(const RankBinding& binding, int index, int ranks) {
  switch (binding.kind) {
    case RankBinding::Kind::launcher:
    case RankBinding::Kind::none:
      return;
    case RankBinding::Kind::core:
    case RankBinding::Kind::numa: {
      const bool cores = binding.kind == RankBinding::Kind::core;
      const auto groups = processors_by(cores ? Place::core : Place::numa_node);
      if (groups.empty())
        fail(Errc::unavailable, "--bind: hwloc sees no {}", cores ? "cores" : "NUMA nodes");
      const auto& group = groups[static_cast<std::size_t>(index) % groups.size()];
      if (!bind_to_processors(group)) fail(Errc::system, "--bind: the kernel refused");
      return;
    }
    case RankBinding::Kind::list:
      require(binding.processors.size() >= static_cast<std::size_t>(ranks),
              "--bind: {} processors are listed for {} ranks of this host",
              binding.processors.size(), ranks);
      const int processor = binding.processors[static_cast<std::size_t>(index)];
      require(bind_to_processor(processor), "--bind: processor {} may not be used here", processor);
      return;
  }
}

}  // namespace commtune
