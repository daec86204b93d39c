#include "collectives/runtime/lowering.hpp"

#include <algorithm>

#include "collectives/runtime/program.hpp"
#include "core/topology.hpp"

namespace commtune {

const Caches& caches() {
  static const Caches found = [] {
    const Topology topology = discover_topology();
    const auto packages = static_cast<std::uint64_t>(std::max(topology.packages, 1));
    const auto cores = static_cast<std::uint64_t>(std::max(topology.cores, 1));
    return Caches{topology.l2_bytes,
                  std::max(topology.l3_bytes * packages, topology.l2_bytes * cores)};
  }();
  return found;
}

namespace {

/// Ranks up to which a rank looks at the programs of all the others.
constexpr Rank most_looked_at = 64;

/// Whether every rank's program moves blocks of one part at a time, so that windows of the parts
/// can run one after another. All ranks must come to the same answer, so each looks at all
/// programs.
bool single_parts_everywhere(const Subject& subject) {
  if (!parted(subject.algorithm.collective)) return true;
  if (subject.shape.size > most_looked_at) return false;
  Shape shape = subject.shape;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    const Schedule program = subject.algorithm.generate(shape, subject.params);
    const auto blocks = blocks_of_part(subject.algorithm.collective, program.space, shape.size);
    if (!single_parts(program, blocks)) return false;
  }
  return true;
}

/// Whether an element is summed in the same order whatever the windows are. With several blocks in
/// a part the windows decide which block an element is in, and blocks may be summed in different
/// orders; of two summands there is only one sum.
bool order_survives_windows(const Subject& subject) {
  if (!reduces(subject.algorithm.collective) || subject.shape.size <= 2) return true;
  return blocks_of_part(subject.algorithm.collective, subject.schedule.space, subject.shape.size) ==
         1;
}

/// The most that can be read in place without ranks waiting for each other in a circle. Every rank
/// comes to the same answer, from the programs of all.
ViewUse safe_views(const Subject& subject, bool copy_views) {
  if (subject.shape.size > most_looked_at) return ViewUse::cautious;
  Shape shape = subject.shape;
  std::vector<Plan> plans;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    plans.push_back(make_plan(subject.algorithm.generate(shape, subject.params), shape.in_place,
                              {.views = ViewUse::full, .copy_views = copy_views}));
  }
  return completes(plans) ? ViewUse::full : ViewUse::cautious;
}

}  // namespace

bool leaves_caches(const Call& call, Rank size) {
  const auto ranks = static_cast<std::uint64_t>(size);
  const std::uint64_t part = counts_of(call).largest() * size_of(call.type);
  const std::uint64_t vector = parted(call.collective) ? part * ranks : part;
  return caches().shared != 0 && 2 * vector * ranks > caches().shared;
}

std::uint64_t wave_width(const Transport& transport, const Subject& subject, const Call& call,
                         const Limits& limits) {
  const std::uint64_t element = size_of(call.type), longest = counts_of(call).largest();
  std::uint64_t bytes = limits.wave_bytes;
  if (bytes == Limits::by_cache) {
    const bool cut = transport.capabilities().views && order_survives_windows(subject);
    bytes = cut ? caches().own / 4 : 0;
    if (cut && call.collective == Collective::alltoall) {
      bytes = std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(transport.size()), 4096);
    }
  }
  // Windows of uneven parts differ from one to the next.
  if (bytes == 0 || longest * element <= bytes || !call.counts.empty()) return longest;
  if (!single_parts_everywhere(subject)) return longest;
  return std::max<std::uint64_t>(1, bytes / element);
}

Lowering lowering_for(const Transport& transport, const Subject& subject, const Call& call,
                      std::uint64_t width) {
  const Capabilities can = transport.capabilities();
  if (!can.views) return {};
  // Messages up to the eager size travel by value whatever memory they come from, and peers fetch
  // large ones from private memory themselves: staging would be a second copy.
  const std::uint64_t bytes = width * size_of(call.type);
  const bool by_value = !parted(call.collective) && bytes <= can.eager_bytes;
  const bool staged = !by_value && (can.single_copy_bytes == 0 || bytes < can.single_copy_bytes);
  const auto is_private = [&](std::span<const std::byte> data) {
    return staged && !data.empty() && !transport.shares(data);
  };
  const bool copy_views = leaves_caches(call, transport.size());
  return {.views = safe_views(subject, copy_views),
          .private_input = is_private(call.input),
          .private_output = is_private(call.output),
          .copy_views = copy_views};
}

}  // namespace commtune
