#include "collectives/exchange/msccl_translate.hpp"

#include <algorithm>

#include "collectives/exchange/slices.hpp"
#include "core/error.hpp"

namespace commtune {
MscclTranslation::MscclTranslation(const MscclProgram& source, bool in_place, bool aliased,
                                   SendOrder order)
    : source_(source),
      in_place_(in_place),
      order_(order),
      programs_(source.gpus.size()),
      pending_(source.gpus.size()),
      sent_(source.gpus.size() * source.gpus.size()),
      received_(sent_.size()) {
  for (Rank rank = 0; rank < source.ranks(); ++rank) {
    memories_.emplace_back(source, rank, aliased);
    storages_.emplace_back(
        block_space(source.collective, {rank, source.ranks(), 0, in_place}, source.blocks()),
        in_place);
  }
}

std::optional<std::uint32_t> MscclTranslation::run(Rank gpu, const MscclStep& step, Rank send_peer,
                                                   std::optional<std::uint32_t> incoming) {
  if (step.type == MscclStepType::nop) return std::nullopt;
  if (incoming) take(step, *incoming);
  Chunks chunks;
  if (incoming) {
    chunks =
        combines(step.type) ? receive_reduce(gpu, step, *incoming) : receive(gpu, step, *incoming);
  } else if (step.type == MscclStepType::re) {
    chunks = reduce(gpu, step);
  } else if (step.type == MscclStepType::cpy) {
    chunks = copy(gpu, step);
  } else {
    chunks = load(gpu, step.src, step.count);
  }
  if (writes_destination(step.type)) store(gpu, step, chunks);
  if (!sends(step.type)) return std::nullopt;
  return send(gpu, send_peer, std::move(chunks));
}

MscclTranslation::Chunks MscclTranslation::load(Rank gpu, MscclRun run, std::uint32_t count) const {
  Chunks chunks;
  for (std::uint32_t i = 0; i < count; ++i) {
    chunks.push_back(memory(gpu)[memory(gpu).cell(run, i)]);
    if (chunks.back().written) continue;
    fail(Errc::wrong_result, "{}: reads {}[{}], which nothing has written", where_,
         name(run.buffer), run.offset + i);
  }
  return chunks;
}

void MscclTranslation::store(Rank gpu, const MscclStep& step, const Chunks& chunks) {
  for (std::uint32_t i = 0; i < step.count; ++i) {
    memory_of(gpu)[memory(gpu).cell(step.dst, i)] = chunks[i];
  }
}

bool MscclTranslation::at_home(Rank gpu, MscclRun run, std::size_t index,
                               std::uint32_t block) const {
  const MscclMemory& memory = memory_of(gpu);
  return memory.result(memory.cell(run, static_cast<std::uint32_t>(index))) == block;
}

void MscclTranslation::settle(Rank gpu, Chunks& chunks, std::size_t first, std::size_t count,
                              bool home) {
  const auto slot = home ? nullptr : memory_of(gpu).slots().acquire();
  for (std::size_t i = first; i < first + count; ++i) {
    chunks[i].slot = slot;
    chunks[i].place = home ? out(chunks[i].block) : tmp(*slot, chunks[i].block);
  }
  if (home) save_pending(gpu, stretch(chunks[first].place, count));
}

void MscclTranslation::take(const MscclStep& step, std::uint32_t id) {
  const Message& message = messages_[id];
  if (message.chunks.size() != step.count) {
    fail(Errc::wrong_result, "{}: receives {} chunks of a message of {} from gpu {}", where_,
         step.count, message.chunks.size(), message.from);
  }
  const std::size_t pair = static_cast<std::size_t>(message.from) * source_.gpus.size() +
                           static_cast<std::size_t>(message.to);
  if (message.sequence != received_[pair]++) in_order_ = false;
}

void MscclTranslation::announce(std::uint32_t id) {
  if (order_ == SendOrder::when_sent) return;
  const Message& message = messages_[id];
  program(message.from).push_back({.kind = StepKind::send, .peer = message.to, .message = id});
  auto& pending = pending_[static_cast<std::size_t>(message.from)];
  pending.erase(std::find(pending.begin(), pending.end(), id));
}

std::uint32_t MscclTranslation::send(Rank gpu, Rank to, Chunks chunks) {
  const auto id = static_cast<std::uint32_t>(messages_.size());
  const std::size_t pair =
      static_cast<std::size_t>(gpu) * source_.gpus.size() + static_cast<std::size_t>(to);
  if (order_ == SendOrder::when_sent) {
    for (MscclChunk& chunk : chunks) chunk.slot = nullptr;  // later steps may write over it
    program(gpu).push_back({.kind = StepKind::send, .peer = to, .message = id});
  } else {
    pending_[static_cast<std::size_t>(gpu)].push_back(id);
  }
  messages_.push_back({gpu, to, sent_[pair]++, std::move(chunks), {}});
  return id;
}

/// Moves chunks of messages that are still under way out of the way of a write to the output.
void MscclTranslation::save_pending(Rank gpu, Slice overwritten) {
  const Storage& storage = storages_[static_cast<std::size_t>(gpu)];
  for (const std::uint32_t id : pending_[static_cast<std::size_t>(gpu)]) {
    for (MscclChunk& chunk : messages_[id].chunks) {
      if (chunk.slot != nullptr) continue;
      const std::uint32_t cell = storage.cell(chunk.place.buffer, chunk.block);
      const std::uint32_t begin = storage.cell(overwritten.buffer, overwritten.first);
      if (cell < begin || cell >= begin + overwritten.count) continue;
      const Slice from = chunk.place;
      chunk.slot = memory_of(gpu).slots().acquire();
      chunk.place = tmp(*chunk.slot, chunk.block);
      program(gpu).push_back({.kind = StepKind::copy, .a = from, .dst = chunk.place});
    }
  }
}

std::string MscclTranslation::strays() const {
  std::string text;
  for (Rank rank = 0; rank < source_.ranks(); ++rank) {
    const MscclMemory& memory = this->memory(rank);
    for (std::uint32_t cell = 0; cell < memory.cells(); ++cell) {
      const MscclChunk& chunk = memory[cell];
      const std::uint32_t expected = memory.result(cell);
      if (expected == MscclMemory::none || (chunk.written && chunk.block == expected)) continue;
      text += fmt::format("{}gpu {}: the place of output block {} holds {} at the end",
                          text.empty() ? "" : "; ", rank, expected,
                          chunk.written ? fmt::format("block {}", chunk.block) : "nothing");
      if (text.size() > 300) return text + "; ...";
    }
  }
  return text;
}

std::vector<Schedule> MscclTranslation::finish() && {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < source_.ranks(); ++rank) {
    const Shape shape{rank, source_.ranks(), 0, in_place_};
    ScheduleBuilder builder(source_.collective, shape, source_.blocks());
    for (const Operation& operation : program(rank)) {
      switch (operation.kind) {
        case StepKind::send:
          builder.send(operation.peer, messages_[operation.message].runs);
          break;
        case StepKind::recv:
          builder.recv(operation.peer, operation.into);
          break;
        case StepKind::copy:
          builder.copy(operation.a, operation.dst);
          break;
        case StepKind::reduce:
          builder.reduce(operation.a, operation.b, operation.dst);
          break;
      }
    }
    const MscclMemory& memory = this->memory(rank);
    std::vector<Slice> left;  // input that is its own output
    for (std::uint32_t cell = 0; cell < memory.cells(); ++cell) {
      const MscclChunk& chunk = memory[cell];
      if (!chunk.written || chunk.block != memory.result(cell)) continue;
      if (chunk.place.buffer == BufferId::input) left.push_back(chunk.place);
    }
    for_each_run(
        left.size(), [&](std::size_t i) { return follows(left[i - 1], left[i]); },
        [&](std::size_t first, std::size_t count) {
          const auto blocks = static_cast<std::uint32_t>(count);
          builder.copy(in(left[first].first, blocks), out(left[first].first, blocks));
        });
    schedules.push_back(std::move(builder).finish());
  }
  return schedules;
}

}  // namespace commtune
