#include <algorithm>
#include <array>
#include <set>

#include "collectives/schedule/verify.hpp"

namespace commtune {
namespace {

enum Knob : std::size_t {
  placement,
  root,
  segments,
  radix,
  channels,
  leaders,
  group,
  cluster,
  intra,
  inter,
  knobs
};
/// For every knob which of its values a case takes.
using Choice = std::array<std::uint8_t, knobs>;

/// The values that are tried of every knob; the first one is the default.
struct Grid {
  std::vector<bool> placements{false};
  std::vector<Rank> roots{0};
  std::vector<std::uint32_t> segments{1}, radix{2}, channels{1}, leaders{1}, group{2}, cluster{0};
  std::vector<std::string_view> intra{""}, inter{""};

  std::array<std::size_t, knobs> sizes() const {
    return {placements.size(), roots.size(), segments.size(), radix.size(), channels.size(),
            leaders.size(),    group.size(), cluster.size(),  intra.size(), inter.size()};
  }
  VerifyCase at(const Algorithm& algorithm, Rank size, const Choice& choice) const {
    VerifyCase result{&algorithm, {0, size, 0, false}, {}};
    result.shape.in_place = placements[choice[placement]];
    result.shape.root = roots[choice[Knob::root]];
    Params& params = result.params;
    params.segments = segments[choice[Knob::segments]];
    params.radix = radix[choice[Knob::radix]];
    params.channels = channels[choice[Knob::channels]];
    params.leaders = leaders[choice[Knob::leaders]];
    params.group = group[choice[Knob::group]];
    params.cluster = cluster[choice[Knob::cluster]];
    params.intra = intra[choice[Knob::intra]];
    params.inter = inter[choice[Knob::inter]];
    return result;
  }
};

constexpr Rank small_size = 8;

/// Two of the names that `algorithm` takes for a knob, other ones at every size.
void add_names(const Algorithm& algorithm, Rank size, std::string_view Params::*member,
               std::vector<std::string_view>& names) {
  constexpr std::size_t tried = 2;
  std::set<std::string_view> all;
  for (const Algorithm* other : algorithms()) all.insert(other->name);
  std::vector<std::string_view> accepted;
  for (const std::string_view each : all) {
    Params params;
    params.*member = each;
    if (refusal(algorithm, {0, size, 0, false}, params).empty()) accepted.push_back(each);
  }
  for (std::size_t i = 0; i < std::min(tried, accepted.size()); ++i) {
    names.push_back(accepted[(tried * static_cast<std::size_t>(size) + i) % accepted.size()]);
  }
}

Grid grid_of(const Algorithm& algorithm, Rank size) {
  Grid grid;
  if (algorithm.collective != Collective::barrier) grid.placements.push_back(true);
  if (rooted(algorithm.collective)) {
    for (Rank each = 1; size <= small_size && each < size; ++each) grid.roots.push_back(each);
    if (size > small_size) grid.roots.insert(grid.roots.end(), {size / 2, size - 1});
  }
  const auto reads = [&](std::string_view knob) {
    return algorithm.tunables.find(knob) != std::string_view::npos;
  };
  if (reads("segments")) grid.segments = {1, 3};
  if (reads("radix")) grid.radix = {2, 3, 4};
  if (reads("channels")) grid.channels = {1, 2};
  if (reads("leaders")) grid.leaders = {1, 2};
  if (reads("group")) grid.group = {2, 3, 5};
  if (reads("cluster")) grid.cluster = {0, 2};
  if (reads("intra")) add_names(algorithm, size, &Params::intra, grid.intra);
  if (reads("inter")) add_names(algorithm, size, &Params::inter, grid.inter);
  return grid;
}

std::vector<Choice> all_choices(const Grid& grid) {
  std::vector<Choice> choices{Choice{}};
  const auto sizes = grid.sizes();
  for (std::size_t knob = 0; knob < knobs; ++knob) {
    std::vector<Choice> longer;
    for (const Choice& each : choices) {
      for (std::size_t value = 0; value < sizes[knob]; ++value) {
        longer.push_back(each);
        longer.back()[knob] = static_cast<std::uint8_t>(value);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

/// The values of knobs, or the pairs of values of two knobs, that no case has had yet.
class Open {
 public:
  Open(const Grid& grid, bool pairs) : pairs_(pairs) {
    const auto sizes = grid.sizes();
    for (std::size_t knob = 0; knob < knobs; ++knob) {
      if (sizes[knob] > 1) varied_.push_back(knob);
    }
    had_.assign(knobs * knobs * values * values, false);
  }
  std::size_t count(const Choice& choice) const {
    std::size_t open = 0;
    for (std::size_t a = 0; a < varied_.size(); ++a) {
      for (std::size_t b = pairs_ ? 0 : a; b <= a; ++b) open += had_[index(choice, a, b)] ? 0 : 1;
    }
    return open;
  }
  void close(const Choice& choice) {
    for (std::size_t a = 0; a < varied_.size(); ++a) {
      for (std::size_t b = pairs_ ? 0 : a; b <= a; ++b) had_[index(choice, a, b)] = true;
    }
  }

 private:
  static constexpr std::size_t values = 8;
  std::size_t index(const Choice& choice, std::size_t a, std::size_t b) const {
    return ((a * knobs + b) * values + choice[varied_[a]]) * values + choice[varied_[b]];
  }
  bool pairs_;
  std::vector<std::size_t> varied_;
  std::vector<bool> had_;
};

/// Enough of `choices` for every value of a knob, or every pair of values of two knobs, that occurs
/// in them.
std::vector<Choice> cover(const Grid& grid, const std::vector<Choice>& choices, bool pairs) {
  Open open(grid, pairs);
  if (choices.size() < 2) return choices;
  std::vector<Choice> taken;
  while (true) {
    const Choice* best = nullptr;
    std::size_t most = 0;
    for (const Choice& each : choices) {
      const std::size_t added = open.count(each);
      if (added > most) best = &each;
      most = std::max(most, added);
    }
    if (best == nullptr) return taken;
    open.close(*best);
    taken.push_back(*best);
  }
}

}  // namespace

std::vector<VerifyCase> verify_cases(const Algorithm& algorithm, Rank size) {
  constexpr std::size_t most_small_choices = 200;
  constexpr Rank most_paired_size = 64;
  const Grid grid = grid_of(algorithm, size);
  std::vector<Choice> choices;
  for (const Choice& each : all_choices(grid)) {
    const VerifyCase task = grid.at(algorithm, size, each);
    if (refusal(algorithm, task.shape, task.params).empty()) choices.push_back(each);
  }
  if (size > small_size || choices.size() > most_small_choices) {
    choices = cover(grid, choices, size <= most_paired_size);
  }
  std::vector<VerifyCase> cases;
  cases.reserve(choices.size());
  for (const Choice& each : choices) cases.push_back(grid.at(algorithm, size, each));
  return cases;
}

}  // namespace commtune
