#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "collectives/schedule/algorithm.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

bool before(const Algorithm* a, const Algorithm* b) {
  return a->collective != b->collective ? a->collective < b->collective : a->name < b->name;
}

/// The built-in list, and after each addition a new one. Old lists stay, so readers take no lock.
class Catalogue {
 public:
  using List = std::vector<const Algorithm*>;
  const List* added() const noexcept { return current_.load(std::memory_order_acquire); }
  void add(std::shared_ptr<const Algorithm> algorithm, std::string_view what) {
    const std::scoped_lock lock(mutex_);
    const auto known = algorithms();
    List next(known.begin(), known.end());
    const auto place = std::lower_bound(next.begin(), next.end(), algorithm.get(), before);
    require(place == next.end() || before(algorithm.get(), *place),
            "{}: there is an algorithm {}/{} already; give it another name", what,
            name(algorithm->collective), algorithm->name);
    next.insert(place, algorithm.get());
    owned_.push_back(std::move(algorithm));
    current_.store(&lists_.emplace_back(std::move(next)), std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::deque<List> lists_;
  std::vector<std::shared_ptr<const Algorithm>> owned_;
  std::atomic<const List*> current_{nullptr};
};

/// The one object of the program that changes after its start; never destroyed, so that what
/// refers to an algorithm may outlive main().
Catalogue& catalogue() {
  static Catalogue* const all = new Catalogue;
  return *all;
}

}  // namespace

std::span<const Algorithm* const> algorithms() noexcept {
  const Catalogue::List* const added = catalogue().added();
  return added == nullptr ? built_in_algorithms() : std::span(*added);
}

void add_algorithm(std::shared_ptr<const Algorithm> algorithm, std::string_view what) {
  const std::string_view id = algorithm->name;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  require(!id.empty() && std::all_of(id.begin(), id.end(), plain),
          "{}: the algorithm name '{}' is not made of letters, digits and '_-.'", what, id);
  require(id != "all" && id != "auto" && id != "native",
          "{}: the algorithm name '{}' has another meaning; give it another name", what, id);
  require(!(algorithm->generate == nullptr), "{}: {}/{} has no generator", what,
          name(algorithm->collective), id);
  catalogue().add(std::move(algorithm), what);
}

std::string refusal(const Algorithm& algorithm, const Shape& shape, const Params& params) {
  // Block numbers have 32 bits, and long before they run out a program is too large to be run.
  constexpr std::uint64_t most_blocks = std::uint64_t{1} << 20U;
  const auto knob = [&](std::string_view name, std::uint32_t value) {
    return algorithm.tunables.find(name) == std::string_view::npos ? 1U : std::max(value, 1U);
  };
  const std::uint64_t pieces =
      std::uint64_t{knob("segments", params.segments)} * knob("channels", params.channels);
  if (pieces > 1 &&
      (pieces > most_blocks || pieces * static_cast<std::uint64_t>(shape.size) > most_blocks)) {
    return fmt::format("{} segments and channels on {} ranks make more than {} blocks", pieces,
                       shape.size, most_blocks);
  }
  return algorithm.refuse == nullptr ? std::string{} : algorithm.refuse(shape, params);
}

const Algorithm& find_algorithm(Collective collective, std::string_view name,
                                std::string_view what) {
  std::string known;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != collective) continue;
    if (algorithm->name == name) return *algorithm;
    if (!known.empty()) known += ", ";
    known += algorithm->name;
  }
  fail(Errc::usage, "{}: unknown algorithm {}/{}; known: {}", what, commtune::name(collective),
       name, known);
}

}  // namespace commtune
