#include "transports/bootstrap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace commtune {

std::vector<std::string> allgather_string(Bootstrap& bootstrap, std::string_view mine) {
  const auto lengths = allgather_value(bootstrap, static_cast<std::uint64_t>(mine.size()));
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string padded(mine);
  padded.resize(longest, '\0');
  std::string all(longest * lengths.size(), '\0');
  bootstrap.allgather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    texts.push_back(all.substr(i * longest, lengths[i]));
  }
  return texts;
}

}  // namespace commtune
