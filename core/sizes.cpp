#include "core/sizes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "core/error.hpp"

namespace commtune {
namespace {

constexpr std::size_t max_sizes = 10'000;
constexpr std::uint64_t max_ranks = 1'048'576;
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

constexpr std::string_view size_help =
    "use digits and an optional suffix: B, K M G T (1024-based) or KB MB GB TB (1000-based)";
constexpr std::string_view sizes_help =
    "use a,b,c or lo:hi (doubling), lo:hi:xFACTOR, lo:hi:+STEP, as in 8:64M, 1K:1G:x4, 1K:8K:+1K";
constexpr std::string_view ranks_help =
    "use rank counts from 1 to 1048576 and ranges, as in 4 or 1:64 or 1:9,16";

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};
constexpr std::array suffixes = {
    Suffix{"", 1},
    Suffix{"B", 1},
    Suffix{"K", 1ULL << 10},
    Suffix{"k", 1ULL << 10},
    Suffix{"M", 1ULL << 20},
    Suffix{"m", 1ULL << 20},
    Suffix{"G", 1ULL << 30},
    Suffix{"g", 1ULL << 30},
    Suffix{"T", 1ULL << 40},
    Suffix{"t", 1ULL << 40},
    Suffix{"KB", 1'000},
    Suffix{"MB", 1'000'000},
    Suffix{"GB", 1'000'000'000},
    Suffix{"TB", 1'000'000'000'000},
};

struct Digits {
  std::uint64_t value;
  std::string_view rest;
};

/// The leading decimal digits of `text`; nothing when there are none.
std::optional<Digits> leading_digits(std::string_view text, std::string_view option) {
  Digits digits{0, text};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digits.value);
  if (error == std::errc::invalid_argument) return std::nullopt;
  require(error == std::errc{}, "{}: \"{}\" is too large; the limit is {}", option, text, largest);
  digits.rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  return digits;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// How a range goes from one size to the next; nothing once that would overflow.
struct Progression {
  std::uint64_t factor = 2, step = 0;
  std::optional<std::uint64_t> next(std::uint64_t size) const {
    if (step != 0) return size <= largest - step ? std::optional(size + step) : std::nullopt;
    return size <= largest / factor ? std::optional(size * factor) : std::nullopt;
  }
};

Progression parse_progression(std::string_view text, std::string_view option) {
  require(text.size() > 1 && (text[0] == 'x' || text[0] == '+'), "{}: \"{}\" is not a step; {}",
          option, text, sizes_help);
  Progression progression;
  if (text[0] == 'x') {
    progression.factor = parse_count(text.substr(1), option);
    require(progression.factor >= 2, "{}: the factor in \"{}\" must be at least 2", option, text);
  } else {
    progression.step = parse_size(text.substr(1), option);
    require(progression.step != 0, "{}: the step in \"{}\" must be at least 1", option, text);
  }
  return progression;
}

void append_range(std::string_view text, std::string_view option,
                  std::vector<std::uint64_t>& sizes) {
  const auto parts = split(text, ':');
  require(parts.size() <= 3, "{}: \"{}\" has too many parts; {}", option, text, sizes_help);
  const auto low = parse_size(parts[0], option);
  const auto high = parts.size() == 1 ? low : parse_size(parts[1], option);
  const auto progression = parts.size() == 3 ? parse_progression(parts[2], option) : Progression{};
  require(high >= low, "{}: \"{}\" ends below its start", option, text);
  require(parts.size() == 1 || low != 0 || progression.step != 0,
          "{}: \"{}\" cannot multiply its way up from 0; start at 1 or use +STEP", option, text);
  for (std::optional<std::uint64_t> size = low; size && *size <= high;
       size = parts.size() == 1 ? std::nullopt : progression.next(*size)) {
    require(sizes.size() < max_sizes, "{}: \"{}\" lists more than {} sizes", option, text,
            max_sizes);
    sizes.push_back(*size);
  }
}

int parse_rank_count(std::string_view text, std::string_view option) {
  const auto count = parse_count(text, option);
  require(count >= 1 && count <= max_ranks, "{}: \"{}\" is out of range; {}", option, text,
          ranks_help);
  return static_cast<int>(count);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view option) {
  if (const auto digits = leading_digits(text, option)) {
    for (const auto& suffix : suffixes) {
      if (suffix.text != digits->rest) continue;
      require(digits->value <= largest / suffix.factor,
              "{}: \"{}\" is too large; the limit is {} bytes", option, text, largest);
      return digits->value * suffix.factor;
    }
  }
  fail(Errc::usage, "{}: \"{}\" is not a size; {}", option, text, size_help);
}

std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option) {
  std::vector<std::uint64_t> sizes;
  for (const auto item : split(text, ',')) append_range(item, option, sizes);
  std::vector<std::uint64_t> once;
  for (const std::uint64_t size : sizes) {
    if (std::find(once.begin(), once.end(), size) == once.end()) once.push_back(size);
  }
  return once;
}

std::vector<int> parse_rank_range(std::string_view text, std::string_view option) {
  std::vector<int> ranks;
  for (const auto item : split(text, ',')) {
    const auto parts = split(item, ':');
    require(parts.size() <= 2, "{}: \"{}\" has too many parts; {}", option, item, ranks_help);
    const int low = parse_rank_count(parts.front(), option);
    const int high = parse_rank_count(parts.back(), option);
    require(high >= low, "{}: \"{}\" ends below its start", option, item);
    for (int rank = low; rank <= high; ++rank) ranks.push_back(rank);
    require(ranks.size() <= 2 * max_ranks, "{}: \"{}\" lists more than {} rank counts", option,
            text, 2 * max_ranks);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::uint64_t parse_count(std::string_view text, std::string_view option) {
  const auto digits = leading_digits(text, option);
  require(digits && digits->rest.empty(), "{}: \"{}\" is not a count; use decimal digits only",
          option, text);
  return digits->value;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::string_view units = "KMGT";
  std::size_t unit = 0;
  while (unit < units.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  if (unit != 0) text += units[unit - 1];
  return text;
}

}  // namespace commtune
