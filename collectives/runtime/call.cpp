#include <algorithm>
#include <string>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "core/error.hpp"

namespace commtune {

std::uint64_t input_bytes(const Call& call, Rank size, Rank rank) {
  const std::uint64_t part = call.count * size_of(call.type);
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::allgather:
      return part;
    case Collective::broadcast:
      return rank == call.root ? part : 0;
    case Collective::reduce_scatter:
      return part * static_cast<std::uint64_t>(size);
    case Collective::barrier:
      break;
  }
  return 0;
}

std::uint64_t output_bytes(const Call& call, Rank size) {
  const std::uint64_t part = call.count * size_of(call.type);
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::reduce_scatter:
      return part;
    case Collective::allgather:
      return part * static_cast<std::uint64_t>(size);
    case Collective::barrier:
      break;
  }
  return 0;
}

void check_buffers(const Call& call, Rank size, Rank rank) {
  const std::uint64_t needs_in = input_bytes(call, size, rank);
  const std::uint64_t needs_out = output_bytes(call, size);
  require(call.input.size() >= needs_in, "{}: the input holds {} bytes, {} are needed",
          name(call.collective), call.input.size(), needs_in);
  require(call.output.size() >= needs_out, "{}: the output holds {} bytes, {} are needed",
          name(call.collective), call.output.size(), needs_out);
  if (needs_in == 0 || needs_out == 0) return;

  const auto part = call.count * size_of(call.type) * static_cast<std::uint64_t>(rank);
  const std::byte* input = call.input.data();
  const std::byte* output = call.output.data();
  if (call.in_place) {
    const std::byte* expected_input =
        call.collective == Collective::allgather ? output + part : output;
    const std::byte* expected_output =
        call.collective == Collective::reduce_scatter ? input + part : output;
    require(call.collective == Collective::reduce_scatter ? output == expected_output
                                                          : input == expected_input,
            "{}: marked in place, but input and output do not share their blocks",
            name(call.collective));
    return;
  }
  require(input + needs_in <= output || output + needs_out <= input,
          "{}: input and output overlap; mark the call in place", name(call.collective));
}

namespace {

/// What all ranks must agree on; compared field by field so that a message can say what differs.
struct Signature {
  std::uint64_t count = 0;
  std::int32_t root = 0;
  std::uint8_t collective = 0, type = 0, op = 0, in_place = 0;
  char algorithm[64] = {};
  bool operator==(const Signature&) const = default;
};

Signature signature_of(const Call& call, std::string_view algorithm) {
  Signature mine;
  mine.count = call.count;
  mine.root = call.root;
  mine.collective = static_cast<std::uint8_t>(call.collective);
  mine.type = static_cast<std::uint8_t>(call.type);
  mine.op = static_cast<std::uint8_t>(call.op);
  mine.in_place = call.in_place ? 1 : 0;
  algorithm.copy(mine.algorithm, std::min(algorithm.size(), sizeof mine.algorithm - 1));
  return mine;
}

std::string describe(const Signature& s) {
  return fmt::format(
      "{}/{} of {} {} elements, {}, root {}{}", name(static_cast<Collective>(s.collective)),
      std::string_view(s.algorithm), s.count, name(static_cast<DataType>(s.type)),
      name(static_cast<ReduceOp>(s.op)), s.root, s.in_place != 0 ? ", in place" : "");
}

}  // namespace

void agree(Bootstrap& bootstrap, const Call& call, std::string_view algorithm) {
  const auto all = allgather_value(bootstrap, signature_of(call, algorithm));
  // The majority is taken for right; of equally many, the one that comes first.
  std::size_t best = 0, best_votes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto votes = static_cast<std::size_t>(std::count(all.begin(), all.end(), all[i]));
    if (votes > best_votes) {
      best = i;
      best_votes = votes;
    }
  }
  if (best_votes == all.size()) return;
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!(all[i] == all[best])) text += fmt::format("; rank {} asks for {}", i, describe(all[i]));
  }
  fail(Errc::usage, "ranks disagree, nothing was transferred: {} rank(s) ask for {}{}", best_votes,
       describe(all[best]), text);
}

}  // namespace commtune
