#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace commtune {
namespace {

void append(std::vector<BlockRun>& runs, BlockRun run) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().first + runs.back().count == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

void cut(std::vector<BlockRun>& runs, const Cuts& cuts) {
  if (cuts.at.empty()) return;
  std::vector<BlockRun> pieces;
  for (BlockRun run : runs) {
    while (run.count > 0) {
      const std::uint32_t count = std::min(run.count, cuts.after(run.first) - run.first);
      pieces.push_back({run.first, count});
      run = {run.first + count, run.count - count};
    }
  }
  runs = std::move(pieces);
}

std::uint32_t parts_of(Collective collective, Rank members) {
  const auto size = static_cast<std::uint32_t>(members);
  if (collective == Collective::alltoall) return size * size;
  return parted(collective) ? size : 1;
}

/// The parent blocks of a sub-collective's blocks.
class BlockMap {
 public:
  BlockMap(const SubCollective& sub, std::uint32_t blocks)
      : sub_(sub),
        per_part_(std::max(
            1U, blocks / parts_of(sub.program.collective, static_cast<Rank>(sub.members.size())))) {
  }

  /// Adjoining runs are joined, then cut.
  std::vector<BlockRun> runs(std::uint32_t first, std::uint32_t count) {
    std::vector<BlockRun> found;
    for (const std::uint32_t end = first + count; first < end;) {
      const std::uint32_t part = first / per_part_;
      const std::uint32_t stop = std::min(end, (part + 1) * per_part_);
      take(part, first - part * per_part_, stop - part * per_part_, found);
      first = stop;
    }
    cut(found, sub_.cuts);
    return found;
  }

 private:
  /// Blocks [from, to) of a part.
  void take(std::uint32_t part, std::uint64_t from, std::uint64_t to,
            std::vector<BlockRun>& found) {
    part_runs_.clear();
    sub_.parts(part, part_runs_);
    std::uint64_t total = 0, before = 0;
    for (const BlockRun& run : part_runs_) total += run.count;
    const std::uint64_t begin = from * total / per_part_, end = to * total / per_part_;
    for (const BlockRun& run : part_runs_) {
      const std::uint64_t low = std::max(begin, before), high = std::min(end, before + run.count);
      if (low < high) {
        append(found, {run.first + static_cast<std::uint32_t>(low - before),
                       static_cast<std::uint32_t>(high - low)});
      }
      before += run.count;
    }
  }

  const SubCollective& sub_;
  std::uint32_t per_part_;
  std::vector<BlockRun> part_runs_;
};

/// For every step, the last step it waits for where one of the two is a signal, plus one; else 0.
std::vector<StepId> signal_orders(const Schedule& inner) {
  std::vector<StepId> last(inner.steps.size(), 0);
  const auto signals = [&](StepId step) {
    const Step& each = inner.steps[step];
    return each.count == 0 && each.peer >= 0;
  };
  for (StepId from = 0; from < inner.steps.size(); ++from) {
    for (const StepId to : inner.successors_of(from)) {
      if (signals(from) || signals(to)) last[to] = from + 1;
    }
  }
  return last;
}

}  // namespace

/// One sub-program on its way into the parent's.
class Embedding {
 public:
  Embedding(Composer& composer, const SubCollective& sub, const Schedule& inner)
      : composer_(composer), sub_(sub), inner_(inner), map_(sub, inner.space.blocks) {
    slots_.resize(inner.slots);
  }

  void run() {
    const auto orders = signal_orders(inner_);
    StepId epoch = 0;
    for (StepId i = 0; i < inner_.steps.size(); ++i) {
      if (orders[i] > epoch) {
        composer_.program_.fence();
        epoch = i;
      }
      add(inner_.steps[i]);
    }
  }

 private:
  /// What a slot of the sub-program holds, and the parent's slots at its disposal.
  struct Slot {
    std::vector<BlockRun> pieces;
    std::vector<std::uint32_t> places;
    std::size_t next = 0;  ///< where a reader is likely to look
  };

  Rank rank(Rank position) const { return sub_.members[static_cast<std::size_t>(position)]; }

  void add(const Step& step) {
    ScheduleBuilder& program = composer_.program_;
    const bool signal = step.count == 0;
    const auto runs = signal ? std::vector<BlockRun>{} : map_.runs(step.first, step.count);
    switch (step.kind) {
      case StepKind::send:
        if (signal) return program.signal(rank(step.peer));
        read(step.a, step.a_slot, runs, message_);
        if (step.joined) return;
        program.send(rank(step.peer), message_);
        return message_.clear();
      case StepKind::recv:
        if (signal) return program.wait_signal(rank(step.peer));
        write(step.dst, step.dst_slot, runs, message_);
        if (step.joined) return;
        program.recv(rank(step.peer), message_);
        return message_.clear();
      case StepKind::copy:
      case StepKind::reduce:
        return compute(step, runs);
    }
  }

  void compute(const Step& step, const std::vector<BlockRun>& runs) {
    std::vector<Slice> a, b, into;
    read(step.a, step.a_slot, runs, a);
    if (step.kind == StepKind::reduce) read(step.b, step.b_slot, runs, b);
    write(step.dst, step.dst_slot, runs, into);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (step.kind == StepKind::reduce) {
        composer_.program_.reduce(a[i], b[i], into[i]);
      } else {
        composer_.program_.copy(a[i], into[i]);
      }
    }
  }

  void read(BufferId buffer, std::uint16_t slot, const std::vector<BlockRun>& runs,
            std::vector<Slice>& slices) {
    if (buffer != BufferId::scratch) {
      const Place place = buffer == BufferId::input ? sub_.input : sub_.output;
      for (const BlockRun& run : runs) slices.push_back(at(place, run, false));
      return;
    }
    Slot& held = slots_[slot];
    for (const BlockRun& run : runs) {
      const std::size_t piece = holder(held, run);
      slices.push_back(tmp(held.places[piece], run.first, run.count));
    }
  }

  void write(BufferId buffer, std::uint16_t slot, const std::vector<BlockRun>& runs,
             std::vector<Slice>& slices) {
    if (buffer != BufferId::scratch) {
      const Place place = buffer == BufferId::input ? sub_.input : sub_.output;
      for (const BlockRun& run : runs) slices.push_back(at(place, run, true));
      return;
    }
    Slot& held = slots_[slot];
    held.pieces = runs;
    held.next = 0;
    while (held.places.size() < runs.size()) held.places.push_back(composer_.slot());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      slices.push_back(tmp(held.places[i], runs[i].first, runs[i].count));
    }
  }

  /// The piece of `held` that contains `run`.
  static std::size_t holder(Slot& held, const BlockRun& run) {
    const std::size_t pieces = held.pieces.size();
    for (std::size_t tried = 0; tried < pieces; ++tried) {
      const std::size_t i = (held.next + tried) % pieces;
      const BlockRun& piece = held.pieces[i];
      if (run.first < piece.first || run.first + run.count > piece.first + piece.count) continue;
      held.next = i;
      return i;
    }
    fail(Errc::usage,
         "embed: the sub-program reads blocks {}+{} from a slot that does not hold them", run.first,
         run.count);
  }

  Slice at(Place place, const BlockRun& run, bool write) const {
    if (place.buffer != BufferId::scratch) return {place.buffer, 0, run.first, run.count};
    require(place.area < composer_.areas_.size(),
            "embed: rank {} uses blocks {}+{} of scratch that it does not have",
            composer_.parent_.rank, run.first, run.count);
    const auto& area = composer_.areas_[place.area];
    const auto behind = std::upper_bound(
        area.pieces.begin(), area.pieces.end(), run.first,
        [](std::uint32_t block, const BlockRun& piece) { return block < piece.first; });
    require(behind != area.pieces.begin(), "embed: scratch does not hold blocks {}+{}", run.first,
            run.count);
    const BlockRun piece = *(behind - 1);
    require(run.first + run.count <= piece.first + piece.count,
            "embed: blocks {}+{} leave the piece of scratch {}+{}; cut there", run.first, run.count,
            piece.first, piece.count);
    require(!write || piece == run,
            "embed: blocks {}+{} are a fraction of the piece of scratch {}+{}", run.first,
            run.count, piece.first, piece.count);
    const auto index = static_cast<std::uint32_t>(behind - 1 - area.pieces.begin());
    return tmp(area.first_slot + index, run.first, run.count);
  }

  Composer& composer_;
  const SubCollective& sub_;
  const Schedule& inner_;
  BlockMap map_;
  std::vector<Slot> slots_;
  std::vector<Slice> message_;
};

PartRuns one_run(BlockRun run) {
  return [run](std::uint32_t, std::vector<BlockRun>& runs) { runs.push_back(run); };
}

std::uint32_t Cuts::after(std::uint32_t block) const {
  const std::uint32_t within = block % period;
  const auto next = std::upper_bound(at.begin(), at.end(), within);
  return block - within + (next == at.end() ? period + at.front() : *next);
}

std::uint32_t Composer::slot() {
  require(slots_ < 65536, "compose: a program has at most 65536 scratch slots");
  return slots_++;
}

Place Composer::scratch(std::vector<BlockRun> runs, const Cuts& cuts) {
  std::sort(runs.begin(), runs.end(),
            [](const BlockRun& a, const BlockRun& b) { return a.first < b.first; });
  Area area{{}, slots_};
  for (const BlockRun& run : runs) append(area.pieces, run);
  cut(area.pieces, cuts);
  for (std::size_t i = 0; i < area.pieces.size(); ++i) slot();
  areas_.push_back(std::move(area));
  return {BufferId::scratch, static_cast<std::uint32_t>(areas_.size() - 1)};
}

void Composer::embed(const SubCollective& sub) {
  const auto self = std::find(sub.members.begin(), sub.members.end(), parent_.rank);
  if (self == sub.members.end()) return;
  const bool scratch =
      sub.input.buffer == BufferId::scratch || sub.output.buffer == BufferId::scratch;
  const Shape shape{static_cast<Rank>(self - sub.members.begin()),
                    static_cast<Rank>(sub.members.size()), sub.root,
                    sub.input == sub.output || (parent_.in_place && !scratch)};
  const Schedule inner = sub.program.generate(shape, sub.program.params);
  Embedding(*this, sub, inner).run();
}

std::uint32_t blocks_per_part(const SubProgram& program, Rank members) {
  const Schedule any = program.generate({0, members, 0, false}, program.params);
  return any.space.blocks / parts_of(program.collective, members);
}

std::uint32_t common_blocks(std::span<const std::uint32_t> counts) {
  std::uint32_t largest = 1;
  for (const std::uint32_t count : counts) largest = std::max(largest, count);
  std::uint64_t common = largest;
  for (const std::uint32_t count : counts) {
    common = std::lcm(common, std::max(1U, count));
    if (common > std::uint64_t{8} * largest) return 8 * largest;
  }
  return static_cast<std::uint32_t>(common);
}

void add_cuts(Cuts& cuts, const SubCollective& sub) {
  const auto size = static_cast<Rank>(sub.members.size());
  const Schedule inner =
      sub.program.generate({sub.root, size, sub.root, false}, sub.program.params);
  SubCollective uncut = sub;
  uncut.cuts = {};
  BlockMap map(uncut, inner.space.blocks);
  const auto add = [&](std::uint32_t first, std::uint32_t count) {
    for (const BlockRun& run : map.runs(first, count)) {
      cuts.at.push_back(run.first % cuts.period);
      cuts.at.push_back((run.first + run.count) % cuts.period);
    }
  };
  const bool at_root =
      sub.program.collective == Collective::reduce || sub.program.collective == Collective::gather;
  for (const Step& step : inner.steps) {
    if (at_root && step.dst == BufferId::output && step.count > 0 && step.kind != StepKind::send) {
      add(step.first, step.count);
    }
  }
  for (std::uint32_t block = 0; !at_root && block < inner.space.blocks; ++block) add(block, 1);
  std::sort(cuts.at.begin(), cuts.at.end());
  cuts.at.erase(std::unique(cuts.at.begin(), cuts.at.end()), cuts.at.end());
}

}  // namespace commtune
