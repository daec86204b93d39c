#include <algorithm>

#include "collectives/exchange/msccl_translate.hpp"
#include "collectives/exchange/slices.hpp"
#include "core/error.hpp"

// The steps of an MSCCL program that change memory.

namespace commtune {
namespace {

/// A sum of adjacent ranges of ranks is in the order of ranks with the lower range first.
bool in_rank_order(const MscclChunk& low, const MscclChunk& high) {
  return low.from < low.until && high.from < high.until && low.until == high.from;
}

}  // namespace

MscclTranslation::Chunks MscclTranslation::receive(Rank gpu, const MscclStep& step,
                                                   std::uint32_t id) {
  Message& message = messages_[id];
  Chunks chunks = message.chunks;
  const auto home = [&](std::size_t i) { return at_home(gpu, step.dst, i, chunks[i].block); };
  const auto joins = [&](std::size_t i) {
    return follows(message.chunks[i - 1].place, message.chunks[i].place) &&
           chunks[i].block == chunks[i - 1].block + 1 && home(i) == home(i - 1);
  };
  Operation operation{.kind = StepKind::recv, .peer = message.from, .message = id};
  for_each_run(chunks.size(), joins, [&](std::size_t first, std::size_t count) {
    message.runs.push_back(stretch(message.chunks[first].place, count));
    settle(gpu, chunks, first, count, home(first));
    operation.into.push_back(stretch(chunks[first].place, count));
  });
  message.chunks.clear();
  program(gpu).push_back(std::move(operation));
  return chunks;
}

MscclTranslation::Chunks MscclTranslation::receive_reduce(Rank gpu, const MscclStep& step,
                                                          std::uint32_t id) {
  Message& message = messages_[id];
  const Chunks sent = std::move(message.chunks), own = load(gpu, step.src, step.count);
  message.chunks.clear();
  require_same_blocks(sent, own);
  const auto home = [&](std::size_t i) {
    return writes_destination(step.type) && at_home(gpu, step.dst, i, own[i].block);
  };
  const auto joins = [&](std::size_t i) {
    return follows(sent[i - 1].place, sent[i].place) && follows(own[i - 1].place, own[i].place) &&
           home(i) == home(i - 1);
  };
  Chunks landing = sent, sums = own;
  Operation operation{.kind = StepKind::recv, .peer = message.from, .message = id};
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for_each_run(sent.size(), joins, [&](std::size_t first, std::size_t count) {
    message.runs.push_back(stretch(sent[first].place, count));
    settle(gpu, landing, first, count, false);
    operation.into.push_back(stretch(landing[first].place, count));
    runs.emplace_back(first, count);
  });
  program(gpu).push_back(std::move(operation));
  for (const auto& [first, count] : runs) {
    std::copy_n(landing.begin() + static_cast<std::ptrdiff_t>(first), count,
                sums.begin() + static_cast<std::ptrdiff_t>(first));
    if (home(first)) settle(gpu, sums, first, count, true);
    add_reduce(gpu, landing, own, sums, first, count);
  }
  return sums;
}

MscclTranslation::Chunks MscclTranslation::reduce(Rank gpu, const MscclStep& step) {
  const Chunks a = load(gpu, step.dst, step.count), b = load(gpu, step.src, step.count);
  require_same_blocks(b, a);
  const auto home = [&](std::size_t i) { return at_home(gpu, step.dst, i, a[i].block); };
  Chunks sums = a;
  const auto joins = [&](std::size_t i) {
    return follows(a[i - 1].place, a[i].place) && follows(b[i - 1].place, b[i].place) &&
           home(i) == home(i - 1);
  };
  for_each_run(a.size(), joins, [&](std::size_t first, std::size_t count) {
    settle(gpu, sums, first, count, home(first));
    add_reduce(gpu, a, b, sums, first, count);
  });
  return sums;
}

void MscclTranslation::require_same_blocks(const Chunks& a, const Chunks& b) const {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].block == b[i].block) continue;
    fail(Errc::wrong_result, "{}: adds block {} to block {}", where_, a[i].block, b[i].block);
  }
}

void MscclTranslation::add_reduce(Rank gpu, const Chunks& a, const Chunks& b, Chunks& sums,
                                  std::size_t first, std::size_t count) {
  const bool swap = in_rank_order(b[first], a[first]);
  program(gpu).push_back({.kind = StepKind::reduce,
                          .a = stretch((swap ? b : a)[first].place, count),
                          .b = stretch((swap ? a : b)[first].place, count),
                          .dst = stretch(sums[first].place, count)});
  for (std::size_t i = first; i < first + count; ++i) {
    const MscclChunk &low = (swap ? b : a)[i], &high = (swap ? a : b)[i];
    const bool ordered = in_rank_order(low, high);
    sums[i].from = ordered ? low.from : 1;
    sums[i].until = ordered ? high.until : 0;
  }
}

MscclTranslation::Chunks MscclTranslation::copy(Rank gpu, const MscclStep& step) {
  const Chunks from = load(gpu, step.src, step.count);
  // What cannot change needs no second copy outside the output.
  const auto lasting = [&](std::size_t i) {
    return from[i].slot != nullptr || (from[i].place.buffer == BufferId::input && !in_place_);
  };
  const auto home = [&](std::size_t i) { return at_home(gpu, step.dst, i, from[i].block); };
  Chunks copies = from;
  const auto joins = [&](std::size_t i) {
    return follows(from[i - 1].place, from[i].place) && home(i) == home(i - 1);
  };
  for_each_run(from.size(), joins, [&](std::size_t first, std::size_t count) {
    if (!home(first) && lasting(first)) return;
    settle(gpu, copies, first, count, home(first));
    program(gpu).push_back({.kind = StepKind::copy,
                            .a = stretch(from[first].place, count),
                            .dst = stretch(copies[first].place, count)});
  });
  return copies;
}

}  // namespace commtune
