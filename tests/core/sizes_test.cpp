#include "core/sizes.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <utility>

#include "tests/core/expect_error.hpp"

namespace commtune {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Size, accepts_digits_and_documented_suffixes) {
  const std::pair<const char*, std::uint64_t> table[] = {
      {"0", 0},
      {"7", 7},
      {"007", 7},
      {"8B", 8},
      {"1K", 1024},
      {"1k", 1024},
      {"2M", 2097152},
      {"2m", 2097152},
      {"1G", 1073741824},
      {"1g", 1073741824},
      {"3T", 3298534883328},
      {"3t", 3298534883328},
      {"1KB", 1000},
      {"2MB", 2000000},
      {"1GB", 1000000000},
      {"1TB", 1000000000000},
      {"0T", 0},
      {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
      {"16777215T", 16777215ULL << 40},
  };
  for (const auto& [text, bytes] : table) EXPECT_EQ(parse_size(text, "--sizes"), bytes) << text;
}

TEST(Size, refuses_everything_else_naming_the_option_and_the_value) {
  for (const char* text :
       {"",     "2X",  "1MM", "-5", "+5",  "nan", "inf", "1e400", "1e4",  "1.5K", "1 K",
        " 1",   "1 ",  "8:4", "K",  "KB",  "B",   "1kb", "1Kb",   "1kB",  "1KiB", "1BK",
        "0x10", "1,2", "1b",  "1P", "\t1", "1\n", "1K1", "١",     "1_000"}) {
    const auto message = error_of(Errc::usage, [&] { parse_size(text, "--sizes"); });
    EXPECT_EQ(message, "--sizes: \"" + std::string(text) +
                           "\" is not a size; use digits and an optional suffix: B, K M G T "
                           "(1024-based) or KB MB GB TB (1000-based)");
  }
}

TEST(Size, refuses_what_does_not_fit_64_bits) {
  for (const char* text : {"18446744073709551616", "99999999999999999999999", "16777216T",
                           "18014398509481984K", "18446744073709552KB"}) {
    const auto message = error_of(Errc::usage, [&] { parse_size(text, "--sizes"); });
    EXPECT_EQ(message.rfind("--sizes: \"" + std::string(text) + "\" is too large", 0), 0U)
        << message;
  }
}

TEST(Size, stops_at_an_embedded_nul) {
  error_of(Errc::usage, [] { parse_size(std::string_view("1K\0", 3), "--sizes"); });
}

TEST(SizeList, expands_lists_and_ranges_in_the_order_given) {
  const std::pair<const char*, Sizes> table[] = {
      {"4,1K,1M", {4, 1024, 1048576}},
      {"5,3,5", {5, 3}},
      {"8:64", {8, 16, 32, 64}},
      {"8:65", {8, 16, 32, 64}},
      {"8:8", {8}},
      {"3:20", {3, 6, 12}},
      {"1K:64K:x4", {1024, 4096, 16384, 65536}},
      {"1K:4K:+1K", {1024, 2048, 3072, 4096}},
      {"0:3:+1", {0, 1, 2, 3}},
      {"0", {0}},
      {"8:32,1M", {8, 16, 32, 1048576}},
      {"1:1000:x10", {1, 10, 100, 1000}},
      {"9223372036854775808:18446744073709551615", {9223372036854775808ULL}},
      {"18446744073709551614:18446744073709551615:+3", {18446744073709551614ULL}},
  };
  for (const auto& [text, sizes] : table) EXPECT_EQ(parse_sizes(text, "--sizes"), sizes) << text;
}

TEST(SizeList, refuses_bad_ranges_with_the_reason) {
  const std::pair<const char*, const char*> table[] = {
      {"2M:1M", "ends below its start"},
      {"8:4", "ends below its start"},
      {"0:8", "cannot multiply its way up from 0"},
      {"0:8:x2", "cannot multiply its way up from 0"},
      {"1:8:x1", "must be at least 2"},
      {"1:8:x0", "must be at least 2"},
      {"1:8:+0", "must be at least 1"},
      {"1:8:4", "is not a step"},
      {"1:8:", "is not a step"},
      {"1:8:x", "is not a step"},
      {"1:8:+", "is not a step"},
      {"1:8:x2K", "is not a count"},
      {"1:8:x-2", "is not a count"},
      {"1:8:x2:3", "too many parts"},
      {"", "is not a size"},
      {",", "is not a size"},
      {"1,,2", "is not a size"},
      {"1,2,", "is not a size"},
      {":8", "is not a size"},
      {"8:", "is not a size"},
      {"1:nan", "is not a size"},
      {"1:99999999999999999999", "is too large"},
  };
  for (const auto& [text, reason] : table) {
    const auto message = error_of(Errc::usage, [&, t = text] { parse_sizes(t, "--sizes"); });
    EXPECT_EQ(message.rfind("--sizes: ", 0), 0U) << message;
    EXPECT_TRUE(holds(message, reason)) << text << " gave " << message;
  }
}

TEST(SizeList, refuses_more_than_ten_thousand_entries) {
  EXPECT_EQ(parse_sizes("1:10000:+1", "--sizes").size(), 10000U);
  EXPECT_TRUE(holds(error_of(Errc::usage, [] { parse_sizes("0:10000:+1", "--sizes"); }),
                    "lists more than 10000 sizes"));
  error_of(Errc::usage, [] { parse_sizes("1:18446744073709551615:+1", "--sizes"); });
}

TEST(RankRange, is_ascending_and_unique) {
  const std::pair<const char*, std::vector<int>> table[] = {
      {"4", {4}},
      {"1:5", {1, 2, 3, 4, 5}},
      {"2,3,5", {2, 3, 5}},
      {"1:3,16", {1, 2, 3, 16}},
      {"5,3,3:5", {3, 4, 5}},
      {"1048576", {1048576}},
  };
  for (const auto& [text, ranks] : table) EXPECT_EQ(parse_rank_range(text, "-n"), ranks) << text;
}

TEST(RankRange, refuses_anything_else) {
  for (const char* text : {"", "0", "-1", "1048577", "4:2", "1:", ":4", "1:2:3", "1,,2", "2K",
                           "two", "1:99999999999"}) {
    const auto message = error_of(Errc::usage, [&] { parse_rank_range(text, "--ranks"); });
    EXPECT_EQ(message.rfind("--ranks: ", 0), 0U) << message;
  }
}

TEST(Count, is_a_whole_decimal_number) {
  EXPECT_EQ(parse_count("0", "--seed"), 0U);
  EXPECT_EQ(parse_count("18446744073709551615", "--seed"), 18446744073709551615ULL);
  for (const char* text :
       {"", "-1", "+1", "1K", "1.0", "1e3", "0x1", " 1", "nan", "18446744073709551616"}) {
    const auto message = error_of(Errc::usage, [&] { parse_count(text, "--seed"); });
    EXPECT_EQ(message.rfind("--seed: \"" + std::string(text) + "\"", 0), 0U) << message;
  }
}

TEST(SizeText, is_the_shortest_exact_form_and_parses_back) {
  const std::pair<std::uint64_t, const char*> table[] = {
      {0, "0"},
      {1, "1"},
      {1000, "1000"},
      {1023, "1023"},
      {1024, "1K"},
      {1536, "1536"},
      {3072, "3K"},
      {1048576, "1M"},
      {1572864, "1536K"},
      {1073741824, "1G"},
      {1ULL << 40, "1T"},
      {1ULL << 50, "1024T"},
      {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615"},
  };
  for (const auto& [bytes, text] : table) {
    EXPECT_EQ(format_size(bytes), text);
    EXPECT_EQ(parse_size(text, "x"), bytes);
  }
}

}  // namespace
}  // namespace commtune
