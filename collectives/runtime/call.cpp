#include <algorithm>
#include <string>
#include <vector>

#include "collectives/runtime/operation.hpp"
#include "core/error.hpp"

namespace commtune {

namespace {

/// The blocks that a rank's buffers hold when every part is one block.
BlockSpace parts_of(const Call& call, Rank size, Rank rank) {
  if (call.collective == Collective::barrier) return {};
  return block_space(call.collective, {rank, size, call.root, call.in_place}, 1);
}

std::uint64_t bytes_of(const Call& call, const BlockSpace::Range& range) {
  std::uint64_t elements = 0;
  if (call.counts.empty()) {
    elements = range.count * call.count;
  } else {
    for (std::uint32_t i = 0; i < range.count; ++i) elements += call.counts[range.block(i)];
  }
  return elements * size_of(call.type);
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Of an in-place call: bytes from the start of the larger buffer to the smaller one.
std::uint64_t in_place_offset(const Call& call, Rank size, Rank rank) {
  const BlockSpace space = parts_of(call, size, rank);
  if (space.input.count == space.output.count) return 0;
  const bool wide_input = space.input.count > space.output.count;
  const auto& wide = wide_input ? space.input : space.output;
  const auto& narrow = wide_input ? space.output : space.input;
  if (narrow.count == 0) return 0;
  const Counts counts = counts_of(call);
  const Layout layout(1, counts, 0, counts.largest());
  return BufferLayout(layout, wide).offset(narrow.first) * size_of(call.type);
}

void check_counts(const Call& call, Rank size) {
  if (call.counts.empty()) return;
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t parts = call.collective == Collective::alltoall ? ranks * ranks : ranks;
  require(parted(call.collective), "{} has no parts whose counts could differ",
          name(call.collective));
  require(call.counts.size() == parts, "{} of {} ranks needs {} counts, {} are given",
          name(call.collective), size, parts, call.counts.size());
  if (!call.in_place) return;
  for (std::size_t from = 0; from < ranks && call.collective == Collective::alltoall; ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      require(call.counts[from * ranks + to] == call.counts[to * ranks + from],
              "alltoall in place: rank {} sends {} elements to rank {} and gets {}: both must be "
              "equal",
              from, call.counts[from * ranks + to], to, call.counts[to * ranks + from]);
    }
  }
  require(call.collective != Collective::sendrecv ||
              std::equal(call.counts.begin() + 1, call.counts.end(), call.counts.begin()),
          "sendrecv in place: all counts must be equal");
}

}  // namespace

Counts counts_of(const Call& call) { return {.each = call.count, .parts = call.counts}; }

std::uint64_t input_bytes(const Call& call, Rank size, Rank rank) {
  return bytes_of(call, parts_of(call, size, rank).input);
}

std::uint64_t output_bytes(const Call& call, Rank size, Rank rank) {
  return bytes_of(call, parts_of(call, size, rank).output);
}

std::uint64_t memory_bytes(const Call& call, Rank size, Rank rank) {
  const std::uint64_t input = input_bytes(call, size, rank);
  const std::uint64_t output = output_bytes(call, size, rank);
  return call.in_place ? std::max(input, output) : aligned(input) + output;
}

CallMemory place(Call& call, std::span<std::byte> memory, Rank size, Rank rank) {
  const std::uint64_t input = input_bytes(call, size, rank);
  const std::uint64_t output = output_bytes(call, size, rank);
  CallMemory placed;
  if (!call.in_place) {
    placed = {memory.first(input), memory.subspan(output == 0 ? 0 : aligned(input), output)};
  } else {
    const std::uint64_t offset = in_place_offset(call, size, rank);
    placed = {memory.subspan(input < output && input != 0 ? offset : 0, input),
              memory.subspan(output < input && output != 0 ? offset : 0, output)};
  }
  call.input = placed.input;
  call.output = placed.output;
  return placed;
}

void check_buffers(const Call& call, Rank size, Rank rank) {
  check_counts(call, size);
  const std::uint64_t needs_in = input_bytes(call, size, rank);
  const std::uint64_t needs_out = output_bytes(call, size, rank);
  require(call.input.size() >= needs_in, "{}: the input holds {} bytes, {} are needed",
          name(call.collective), call.input.size(), needs_in);
  require(call.output.size() >= needs_out, "{}: the output holds {} bytes, {} are needed",
          name(call.collective), call.output.size(), needs_out);
  if (needs_in == 0 || needs_out == 0) return;

  const std::byte* input = call.input.data();
  const std::byte* output = call.output.data();
  if (call.in_place) {
    const BlockSpace space = parts_of(call, size, rank);
    const std::uint64_t offset = in_place_offset(call, size, rank);
    require(space.input.count > space.output.count ? output == input + offset
                                                   : input == output + offset,
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
  std::uint64_t count = 0, counts = 0;  ///< counts: a hash, 0 when all parts are equal
  std::int32_t root = 0;
  std::uint8_t collective = 0, type = 0, op = 0, in_place = 0;
  char algorithm[64] = {};
  bool operator==(const Signature&) const = default;
};

Signature signature_of(const Call& call, std::string_view algorithm) {
  Signature mine;
  mine.count = call.counts.empty() ? call.count : 0;
  for (const std::uint64_t each : call.counts) {
    mine.counts = (mine.counts ^ (each + 1)) * 0x100000001b3;  // Fowler, Noll & Vo
  }
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
      std::string_view(s.algorithm),
      s.counts == 0 ? fmt::format("{}", s.count) : fmt::format("uneven (#{:x})", s.counts),
      name(static_cast<DataType>(s.type)), name(static_cast<ReduceOp>(s.op)), s.root,
      s.in_place != 0 ? ", in place" : "");
}

}  // namespace

void agree(Bootstrap& bootstrap, const Call& call, std::string_view algorithm) {
  const auto all = allgather_value(bootstrap, signature_of(call, algorithm));
  if (std::all_of(all.begin(), all.end(), [&](const auto& each) { return each == all[0]; })) return;
  // The majority is taken for right; of equally many, the one that comes first.
  std::size_t best = 0, best_votes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto votes = static_cast<std::size_t>(std::count(all.begin(), all.end(), all[i]));
    if (votes > best_votes) {
      best = i;
      best_votes = votes;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!(all[i] == all[best])) text += fmt::format("; rank {} asks for {}", i, describe(all[i]));
  }
  fail(Errc::usage, "ranks disagree, nothing was transferred: {} rank(s) ask for {}{}", best_votes,
       describe(all[best]), text);
}

}  // namespace commtune
