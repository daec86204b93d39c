#include <algorithm>
#include <map>
#include <optional>

#include "collectives/exchange/export_formats.hpp"
#include "collectives/exchange/msccl_program.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

std::string_view msccl_name(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reducescatter";
    case Collective::alltoall:
      return "alltoall";
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
    case Collective::barrier:
      break;
  }
  fail(Errc::usage,
       "msccl: {} has no MSCCL program; allreduce, allgather, reduce_scatter and alltoall have",
       name(collective));
}

/// Builds one gpu from one rank's program.
class MscclGpuBuilder {
 public:
  MscclGpuBuilder(const Schedule& schedule, Collective collective, bool in_place)
      : schedule_(schedule),
        storage_(schedule.space, in_place),
        in_place_(in_place),
        shared_(collective == Collective::allgather ? MscclBuffer::output : MscclBuffer::input),
        slot_first_(schedule.slots),
        slot_begin_(schedule.slots + 1),
        last_(schedule.steps.size()),
        waits_(schedule.steps.size()) {
    for (const Step& step : schedule.steps) {
      if (step.dst != BufferId::scratch || step.kind == StepKind::send) continue;
      std::uint32_t& most = slot_begin_[step.dst_slot + std::size_t{1}];
      most = std::max(most, step.count);
    }
    for (std::size_t i = 1; i < slot_begin_.size(); ++i) slot_begin_[i] += slot_begin_[i - 1];
    for (StepId from = 0; from < schedule.steps.size(); ++from) {
      for (const StepId to : schedule.successors_of(from)) waits_[to].push_back(from);
    }
  }

  MscclGpu build() {
    gpu_.scratch_chunks = slot_begin_.back();
    if (!in_place_) {
      gpu_.input_chunks = schedule_.space.input.count;
      gpu_.output_chunks = schedule_.space.output.count;
    } else {
      (shared_ == MscclBuffer::output ? gpu_.output_chunks : gpu_.input_chunks) = storage_.cells();
    }
    for (StepId id = 0; id < schedule_.steps.size(); ++id) add(id, schedule_.steps[id]);
    return std::move(gpu_);
  }

 private:
  struct Position {
    std::size_t block, step;
  };

  void add(StepId id, const Step& what) {
    require(what.count > 0, "msccl: an empty message has no MSCCL step");
    const std::size_t block = block_for(what);
    wait_for_others(id, block);
    switch (what.kind) {
      case StepKind::send:
        push(block, MscclStepType::s, run(what.a, what.a_slot, what), {}, what.count);
        break;
      case StepKind::recv:
        push(block, MscclStepType::r, {}, destination(what), what.count);
        break;
      case StepKind::copy: {
        const MscclRun from = run(what.a, what.a_slot, what);
        push(block, MscclStepType::cpy, from, destination(what), what.count);
        break;
      }
      case StepKind::reduce:
        reduce(block, what);
        break;
    }
    last_[id] = {block, gpu_.blocks[block].steps.size() - 1};
  }

  void reduce(std::size_t block, const Step& what) {
    const MscclRun a = run(what.a, what.a_slot, what), b = run(what.b, what.b_slot, what);
    const MscclRun into = destination(what);
    const auto same = [](MscclRun x, MscclRun y) {
      return x.buffer == y.buffer && x.offset == y.offset;
    };
    if (same(a, into)) {
      push(block, MscclStepType::re, b, into, what.count);
    } else if (same(b, into)) {
      push(block, MscclStepType::re, a, into, what.count);
    } else {
      push(block, MscclStepType::cpy, a, into, what.count);
      push(block, MscclStepType::re, b, into, what.count);
    }
  }

  std::size_t block_for(const Step& what) {
    const bool sends = what.kind == StepKind::send, local = what.peer < 0;
    const auto [entry, made] = block_of_.try_emplace({what.peer, sends}, gpu_.blocks.size());
    if (made) {
      gpu_.blocks.push_back({.send_peer = sends ? what.peer : -1,
                             .recv_peer = sends || local ? -1 : what.peer,
                             .channel = 0,
                             .steps = {}});
      known_.emplace_back();
    }
    return entry->second;
  }

  /// Steps before the next one of `block` that wait: all but the last of them are nops.
  void wait_for_others(StepId id, std::size_t block) {
    std::map<std::size_t, std::size_t> latest;
    for (const StepId before : waits_[id]) {
      const Position at = last_[before];
      if (at.block == block) continue;
      const auto known = known_[block].find(at.block);
      if (known != known_[block].end() && known->second >= at.step) continue;
      std::size_t& step = latest[at.block];
      step = std::max(step, at.step);
    }
    for (const auto& [other, step] : latest) {
      if (pending_wait_) push(block, MscclStepType::nop, {}, {}, 0);
      pending_wait_ = Position{other, step};
      known_[block][other] = step;
      gpu_.blocks[other].steps[step].signals = true;
    }
  }

  void push(std::size_t block, MscclStepType type, MscclRun src, MscclRun dst,
            std::uint32_t count) {
    MscclStep step{.type = type, .src = src, .dst = dst, .count = count};
    if (pending_wait_) {
      step.wait_block = static_cast<std::int32_t>(pending_wait_->block);
      step.wait_step = static_cast<std::int32_t>(pending_wait_->step);
      pending_wait_.reset();
    }
    gpu_.blocks[block].steps.push_back(step);
  }

  MscclRun destination(const Step& what) {
    if (what.dst == BufferId::scratch) slot_first_[what.dst_slot] = what.first;
    return run(what.dst, what.dst_slot, what);
  }
  MscclRun run(BufferId buffer, std::uint16_t slot, const Step& what) const {
    if (buffer == BufferId::scratch) {
      return {MscclBuffer::scratch, slot_begin_[slot] + what.first - slot_first_[slot]};
    }
    if (in_place_) return {shared_, storage_.cell(buffer, what.first)};
    const bool input = buffer == BufferId::input;
    const BlockSpace::Range& range = input ? schedule_.space.input : schedule_.space.output;
    return {input ? MscclBuffer::input : MscclBuffer::output, range.position(what.first)};
  }

  const Schedule& schedule_;
  Storage storage_;
  bool in_place_;
  MscclBuffer shared_;                     ///< that stands for both in place
  std::vector<std::uint32_t> slot_first_;  ///< first block of the run in a slot
  std::vector<std::uint32_t> slot_begin_;  ///< first chunk of a slot
  std::vector<Position> last_;             ///< where a step has become one or more
  std::vector<std::vector<StepId>> waits_;
  std::map<std::pair<Rank, bool>, std::size_t> block_of_;
  std::vector<std::map<std::size_t, std::size_t>> known_;  ///< per block: steps already waited for
  std::optional<Position> pending_wait_;
  MscclGpu gpu_;
};

std::string text_of(const MscclStep& step, std::size_t number) {
  const bool nothing = step.type == MscclStepType::nop;
  // Receivers and senders name one place only; the other one repeats it, as is the custom.
  const MscclRun& src = reads_source(step.type) ? step.src : step.dst;
  const MscclRun& dst = writes_destination(step.type) ? step.dst : step.src;
  const auto offset = [&](const MscclRun& run) {
    return nothing ? std::string("-1") : std::to_string(run.offset);
  };
  return fmt::format(
      "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
      "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
      number, name(step.type), name(src.buffer), offset(src), name(dst.buffer), offset(dst),
      step.count, step.wait_block, step.wait_step, step.signals ? 1 : 0);
}

std::string text_of(const MscclGpu& gpu, std::size_t number) {
  std::string text =
      fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", number,
                  gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks);
  for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
    const MscclThreadBlock& block = gpu.blocks[b];
    text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b,
                        block.send_peer, block.recv_peer, block.channel);
    for (std::size_t s = 0; s < block.steps.size(); ++s) text += text_of(block.steps[s], s);
    text += "    </tb>\n";
  }
  return text + "  </gpu>\n";
}

}  // namespace

std::string to_msccl(const std::vector<Schedule>& schedules, Collective collective, bool in_place,
                     std::string_view name) {
  const std::string_view coll = msccl_name(collective);
  require(!schedules.empty(), "msccl: no programs");
  const BlockSpace& space = schedules.front().space;
  const std::uint32_t chunks = std::max(space.input.count, space.output.count);
  std::string text = fmt::format(
      "<algo name=\"{}\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"{}\" "
      "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"0\">\n",
      name, chunks, schedules.size(), coll, in_place ? 1 : 0, in_place ? 0 : 1);
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    text += text_of(MscclGpuBuilder(schedules[r], collective, in_place).build(), r);
  }
  return text + "</algo>\n";
}

}  // namespace commtune
