#include "collectives/exchange/msccl_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "core/error.hpp"

namespace commtune {
namespace {

class Interpreter {
 public:
  Interpreter(const MscclProgram& program, bool in_place, bool aliased, SendOrder order,
              const std::string& what)
      : program_(program), what_(what), translation_(program, in_place, aliased, order) {
    std::size_t blocks = 0;
    for (Rank gpu = 0; gpu < program.ranks(); ++gpu) {
      first_block_.push_back(blocks);
      races_.emplace_back(translation_.memory(gpu).cells(), blocks);
      for (std::size_t tb = 0; tb < gpu_of(gpu).blocks.size(); ++tb) {
        const std::size_t steps = gpu_of(gpu).blocks[tb].steps.size();
        threads_.push_back({.gpu = gpu, .number = tb, .finished = {}});
        threads_.back().finished.resize(steps);
      }
      blocks = threads_.size();
    }
    for (Thread& thread : threads_) thread.clock.assign(blocks, 0);
  }

  MscclRunResult run() {
    for (;;) {
      ++round_;
      std::vector<Thread*> side_by_side;
      for (Thread& thread : threads_) {
        if (ready(thread)) side_by_side.push_back(&thread);
      }
      if (side_by_side.empty()) break;
      for (const Thread* thread : side_by_side) {
        if (!receives(step_of(*thread).type)) continue;
        translation_.announce(arrivals_.at(incoming(*thread)).front().message);
      }
      for (Thread* thread : side_by_side) fire(*thread);
    }
    for (const Thread& thread : threads_) {
      if (!ended(thread)) fail(Errc::wrong_result, "{}: deadlock: {}", what_, chain(thread));
    }
    require_received();
    MscclRunResult result{{}, translation_.in_order(), translation_.strays()};
    result.schedules = std::move(translation_).finish();
    return result;
  }

 private:
  struct Finished {
    std::uint64_t round = 0;  ///< 0: not yet
    MscclClock clock;         ///< kept where others may wait for it
  };
  struct Thread {
    Rank gpu;
    std::size_t number;  ///< on its gpu
    std::uint32_t next = 0;
    MscclClock clock = {};
    std::vector<Finished> finished;
  };
  struct Arrival {
    std::uint32_t message;
    std::uint64_t round;
    MscclClock clock;
    std::string sender;
  };
  using Connection = std::tuple<Rank, Rank, std::uint32_t>;  ///< from, to, channel

  const MscclGpu& gpu_of(Rank gpu) const { return program_.gpus[static_cast<std::size_t>(gpu)]; }
  const MscclThreadBlock& block_of(const Thread& thread) const {
    return gpu_of(thread.gpu).blocks[thread.number];
  }
  const MscclStep& step_of(const Thread& thread) const {
    return block_of(thread).steps[thread.next];
  }
  bool ended(const Thread& thread) const { return thread.next == block_of(thread).steps.size(); }
  std::size_t thread_index(Rank gpu, std::size_t number) const {
    return first_block_[static_cast<std::size_t>(gpu)] + number;
  }
  Connection incoming(const Thread& thread) const {
    return {block_of(thread).recv_peer, thread.gpu, block_of(thread).channel};
  }
  std::string describe_next(const Thread& thread) const {
    return describe(program_, thread.gpu, thread.number, thread.next);
  }

  const Finished* awaited(const Thread& thread) const {
    const MscclStep& step = step_of(thread);
    if (step.wait_block < 0) return nullptr;
    const auto other = static_cast<std::size_t>(step.wait_block);
    return &threads_[thread_index(thread.gpu, other)]
                .finished[static_cast<std::size_t>(step.wait_step)];
  }
  /// Only what happened in earlier rounds counts, so that all thread blocks advance alike.
  bool ready(const Thread& thread) const {
    if (ended(thread)) return false;
    const Finished* wait = awaited(thread);
    if (wait != nullptr && (wait->round == 0 || wait->round == round_)) return false;
    if (!receives(step_of(thread).type)) return true;
    const auto queue = arrivals_.find(incoming(thread));
    return queue != arrivals_.end() && !queue->second.empty() &&
           queue->second.front().round != round_;
  }

  static void merge(MscclClock& into, const MscclClock& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
  }

  void fire(Thread& thread) {
    const MscclStep& step = step_of(thread);
    const std::string where = fmt::format("{}: {}", what_, describe_next(thread));
    if (const Finished* wait = awaited(thread)) merge(thread.clock, wait->clock);
    std::optional<std::uint32_t> message;
    if (receives(step.type)) {
      auto& queue = arrivals_.at(incoming(thread));
      message = queue.front().message;
      merge(thread.clock, queue.front().clock);
      queue.pop_front();
    }
    check_races(thread, step, where);
    translation_.begin(where);
    const auto sent = translation_.run(thread.gpu, step, block_of(thread).send_peer, message);
    const std::size_t self = thread_index(thread.gpu, thread.number);
    thread.clock[self] = thread.next + 1;
    if (sent) {
      const Connection to{thread.gpu, block_of(thread).send_peer, block_of(thread).channel};
      arrivals_[to].push_back({*sent, round_, thread.clock, where});
    }
    Finished& finished = thread.finished[thread.next];
    finished.round = round_;
    if (step.signals) finished.clock = thread.clock;
    ++thread.next;
  }

  void check_races(const Thread& thread, const MscclStep& step, const std::string& where) {
    const MscclMemory& memory = translation_.memory(thread.gpu);
    MscclRaces& races = races_[static_cast<std::size_t>(thread.gpu)];
    const MscclRaces::Access access{static_cast<std::uint32_t>(thread.number), thread.next};
    const auto refuse = [&](const MscclRaces::Access* other, MscclRun run, std::uint32_t i,
                            std::string_view verb) {
      if (other == nullptr || other->block == access.block) return;
      fail(Errc::wrong_result, "{}: race: {} {}[{}], and nothing orders it after {}, which {} it",
           where, verb, name(run.buffer), run.offset + i,
           describe(program_, thread.gpu, other->block, other->step),
           verb == "reads" ? "writes" : "accesses");
    };
    for (std::uint32_t i = 0; i < step.count; ++i) {
      if (reads_source(step.type)) {
        const auto* other = races.read(memory.cell(step.src, i), access, thread.clock);
        refuse(other, step.src, i, "reads");
      }
      if (step.type == MscclStepType::re) {
        const auto* other = races.read(memory.cell(step.dst, i), access, thread.clock);
        refuse(other, step.dst, i, "reads");
      }
    }
    if (!writes_destination(step.type)) return;
    for (std::uint32_t i = 0; i < step.count; ++i) {
      const auto* other = races.write(memory.cell(step.dst, i), access, thread.clock);
      refuse(other, step.dst, i, "writes");
    }
  }

  /// What a stuck thread block waits for, from one to the next, until it closes or ends.
  std::string chain(const Thread& first) const {
    std::string text;
    std::vector<const Thread*> seen;
    const Thread* at = &first;
    while (std::find(seen.begin(), seen.end(), at) == seen.end()) {
      seen.push_back(at);
      text += fmt::format("{}{} waits for ", text.empty() ? "" : "; ", describe_next(*at));
      const Finished* wait = awaited(*at);
      if (wait != nullptr && wait->round == 0) {
        const MscclStep& step = step_of(*at);
        text += describe(program_, at->gpu, static_cast<std::size_t>(step.wait_block),
                         static_cast<std::size_t>(step.wait_step));
        at = &threads_[thread_index(at->gpu, static_cast<std::size_t>(step.wait_block))];
        continue;
      }
      const auto [from, to, channel] = incoming(*at);
      text += fmt::format("a message from gpu {} on channel {}", from, channel);
      const Thread* sender = sender_on(from, to, channel);
      if (sender == nullptr) return text + ", which no thread block sends";
      if (ended(*sender)) {
        return text + fmt::format(", but its tb {} has ended", sender->number);
      }
      at = sender;
    }
    return text;
  }
  const Thread* sender_on(Rank from, Rank to, std::uint32_t channel) const {
    for (const Thread& thread : threads_) {
      const MscclThreadBlock& block = block_of(thread);
      if (thread.gpu == from && block.send_peer == to && block.channel == channel) return &thread;
    }
    return nullptr;
  }

  void require_received() const {
    for (const auto& [connection, queue] : arrivals_) {
      if (queue.empty()) continue;
      fail(Errc::wrong_result, "{}: gpu {} never receives what this sends on channel {}",
           queue.front().sender, std::get<1>(connection), std::get<2>(connection));
    }
  }

  const MscclProgram& program_;
  const std::string& what_;
  MscclTranslation translation_;
  std::vector<std::size_t> first_block_;  ///< of a gpu, in threads_
  std::vector<Thread> threads_;
  std::vector<MscclRaces> races_;
  std::map<Connection, std::deque<Arrival>> arrivals_;
  std::uint64_t round_ = 0;
};

}  // namespace

MscclRunResult run_msccl(const MscclProgram& program, bool in_place, SendOrder order,
                         const std::string& what) {
  const bool aliased = program.in_place && (in_place || !program.out_of_place);
  return Interpreter(program, in_place, aliased, order, what).run();
}

}  // namespace commtune
