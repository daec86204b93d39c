#include "microbench/call_slots.hpp"

#include <algorithm>

namespace commtune {
namespace {

/// The whole storage of an in-place call is its larger buffer; the smaller one lies inside it.
void bind_in_place(CallSlot& slot, std::span<std::byte> storage, Rank rank, Rank size) {
  const Call& call = slot.call;
  const std::uint64_t part = call.count * size_of(call.type);
  const auto block = static_cast<std::size_t>(rank) * part;
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::broadcast:
      slot.input = storage.first(input_bytes(call, size, rank));
      slot.output = storage;
      return;
    case Collective::allgather:
      slot.input = storage.subspan(block, part);
      slot.output = storage;
      return;
    case Collective::reduce_scatter:
      slot.input = storage;
      slot.output = storage.subspan(block, part);
      return;
    case Collective::barrier:
      return;
  }
}

Call as_root(Call call, Rank rank, bool any_root) {
  if (any_root && rooted(call.collective)) call.root = rank;
  return call;
}

}  // namespace

std::uint64_t slot_bytes(const Call& call, Rank rank, Rank size, bool any_root) {
  const std::uint64_t input = input_bytes(as_root(call, rank, any_root), size, rank);
  const std::uint64_t output = output_bytes(call, size);
  return call.in_place ? std::max(input, output) : input + output;
}

CallSlots::CallSlots(Transport& transport, const Call& prototype, std::size_t pairs,
                     bool rotate_root) {
  const Rank rank = transport.rank();
  const Rank size = transport.size();
  const std::uint64_t input = input_bytes(as_root(prototype, rank, rotate_root), size, rank);
  const std::uint64_t output = output_bytes(prototype, size);
  for (std::size_t i = 0; i < pairs; ++i) {
    if (prototype.in_place) {
      pairs_.push_back({Buffer(transport, std::max(input, output)), Buffer()});
    } else {
      pairs_.push_back({Buffer(transport, input), Buffer(transport, output)});
    }
  }
  const std::size_t roots = rotate_root ? static_cast<std::size_t>(size) : 1;
  const std::size_t count = std::max(pairs, roots);
  for (std::size_t k = 0; k < count; ++k) {
    Pair& pair = pairs_[k % pairs];
    CallSlot slot{prototype, {}, {}};
    if (rotate_root) slot.call.root = static_cast<Rank>(k % roots);
    if (prototype.in_place) {
      bind_in_place(slot, pair.input.bytes(), rank, size);
    } else {
      slot.input = pair.input.bytes().first(input_bytes(slot.call, size, rank));
      slot.output = pair.output.bytes();
    }
    slot.call.input = slot.input;
    slot.call.output = slot.output;
    slots_.push_back(slot);
  }
}

}  // namespace commtune
