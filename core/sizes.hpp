#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace commtune {

/// One size in bytes: digits and an optional suffix. K M G T (also lower case) are 1024-based,
/// KB MB GB TB are 1000-based, B alone is bytes. Anything else ("2X", "1MM", "-5", "nan", "1e4",
/// "", overflow) throws Error(usage) that starts with `option`.
std::uint64_t parse_size(std::string_view text, std::string_view option);

/// A size list: `a,b,c`, `lo:hi` (doubling), `lo:hi:xF` (times F >= 2), `lo:hi:+STEP`; an item of a
/// comma list may be a range. The result has each size once, in the order given; `hi` only when a
/// step lands on it. Throws as parse_size, also when hi < lo, lo is 0 in a multiplying range, or
/// the list exceeds 10,000 entries.
std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option);

/// A rank range `4`, `1:64`, `2,3,5`, `1:9,16`, each 1 <= n <= 1,048,576. The result is ascending
/// and unique whatever the order given. Throws as parse_size.
std::vector<int> parse_rank_range(std::string_view text, std::string_view option);

/// A whole non-negative decimal number, nothing else. Throws as parse_size.
std::uint64_t parse_count(std::string_view text, std::string_view option);

/// Shortest exact form: 1024 -> "1K", 1048576 -> "1M", 1000 -> "1000".
std::string format_size(std::uint64_t bytes);

}  // namespace commtune
