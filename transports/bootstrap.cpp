#include "transports/bootstrap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace commtune {

void Bootstrap::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (rank() == 0) return allgather(mine, all);
  std::vector<std::byte> unwanted(mine.size() * static_cast<std::size_t>(size()));
  allgather(mine, unwanted);
}

namespace {

std::string padded_to(std::size_t bytes, std::string_view text) {
  std::string padded(text);
  padded.resize(bytes, '\0');
  return padded;
}

/// Texts of `lengths` that lie `stride` bytes apart.
std::vector<std::string> cut(const std::string& all, const std::vector<std::uint64_t>& lengths,
                             std::size_t stride) {
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    texts.push_back(all.substr(i * stride, lengths[i]));
  }
  return texts;
}

}  // namespace

std::vector<std::string> allgather_string(Bootstrap& bootstrap, std::string_view mine) {
  const auto lengths = allgather_value(bootstrap, static_cast<std::uint64_t>(mine.size()));
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest == 0) return std::vector<std::string>(lengths.size());
  const std::string padded = padded_to(longest, mine);
  std::string all(longest * lengths.size(), '\0');
  bootstrap.allgather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  return cut(all, lengths, longest);
}

std::vector<std::string> gather_string(Bootstrap& bootstrap, std::string_view mine) {
  const auto lengths = allgather_value(bootstrap, static_cast<std::uint64_t>(mine.size()));
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const std::string padded = padded_to(longest, mine);
  std::string all(bootstrap.rank() == 0 ? longest * lengths.size() : 0, '\0');
  bootstrap.gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  return bootstrap.rank() == 0 ? cut(all, lengths, longest) : std::vector<std::string>();
}

}  // namespace commtune
