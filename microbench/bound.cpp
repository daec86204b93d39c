#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "collectives/runtime/reference.hpp"
#include "core/backoff.hpp"
#include "core/error.hpp"
#include "devices/host/reduce.hpp"
#include "microbench/call_slots.hpp"
#include "microbench/context.hpp"
#include "microbench/memory.hpp"

namespace commtune {
namespace {

/// What a rank shows its neighbour: that its input is there, and a small input itself. One cache
/// line is the least that two processors can exchange.
struct Flag {
  std::atomic<std::uint64_t> calls;
  std::byte data[56];
};
static_assert(sizeof(Flag) == 64);

/// One pass out[i] = own[i] op next[i], after the next rank's flag. No exit synchronisation and no
/// copy: an allreduce of two ranks that makes one pass does at least this.
class OnePass {
 public:
  OnePass(Job& job, const Call& call, Stores stores)
      : memory_(job.transport, call, 1, false, BufferKind::registered),
        flag_memory_(job.transport, sizeof(Flag)),
        flag_(*new (flag_memory_.bytes().data()) Flag{}),
        kernel_(reduce_kernel(call.type, call.op, stores)),
        count_(call.count),
        inlined_(call.count * size_of(call.type) <= sizeof(Flag::data)),
        crowded_(job.transport.crowded()) {
    struct Address {
      const Flag* flag;
      const std::byte* input;
    };
    const Address mine{&flag_, memory_.slots()[0].input.data()};
    const auto all = allgather_value(job.bootstrap, mine);
    const Address& next = all[static_cast<std::size_t>((job.rank() + 1) % job.size())];
    next_flag_ = next.flag;
    next_input_ = inlined_ ? next.flag->data : next.input;
  }
  /// The other ranks read this rank's memory until they are done with their last call.
  void finish(Bootstrap& bootstrap) { bootstrap.barrier(); }

  const CallSlot& slot() const noexcept { return memory_.slots()[0]; }

  void run() {
    const CallSlot& mine = slot();
    if (inlined_ && !mine.input.empty()) {
      std::memcpy(flag_.data, mine.input.data(), mine.input.size());
    }
    flag_.calls.store(++calls_, std::memory_order_release);
    for (Backoff backoff(crowded_); next_flag_->calls.load(std::memory_order_acquire) < calls_;) {
      backoff.pause();
    }
    kernel_(mine.input.data(), next_input_, mine.output.data(), count_);
  }

 private:
  CallSlots memory_;
  Buffer flag_memory_;
  Flag& flag_;
  ReduceKernel kernel_;
  std::uint64_t count_;
  bool inlined_, crowded_;
  const Flag* next_flag_ = nullptr;
  const std::byte* next_input_ = nullptr;
  std::uint64_t calls_ = 0;
};

void describe(BenchContext& context, Row& row, const Call& call, std::uint64_t asked,
              Stores stores) {
  context.describe_buffers(row, BufferKind::registered);
  row.bytes_asked = asked;
  row.count = call.count;
  row.bytes_per_rank = row.bytes_total = call.count * size_of(call.type);
  row.dtype = name(call.type);
  row.op = name(call.op);
  row.algorithm_asked = row.algorithm_used = "one-pass";
  row.algorithm_evidence = "the test itself";
  row.params["stores"] = stores == Stores::streaming ? "streaming" : "cached";
}

/// Compares the result with one made of private copies of both inputs.
void check(BenchContext& context, OnePass& pass, const Call& call, Row& row) {
  Job& job = context.job();
  const CallSlot& slot = pass.slot();
  CheckSummary summary;
  job.monitor.enter(Phase::check);
  for (std::uint64_t i = 0; i < context.options().check && call.count != 0; ++i) {
    const std::uint64_t seed = context.options().seed + i;
    job.bootstrap.barrier();
    fill_input(slot.call, job.rank(), job.size(), seed, slot.input, slot.output);
    std::vector<std::byte> next(slot.input.size()), unused(slot.output.size());
    fill_input(slot.call, (job.rank() + 1) % job.size(), job.size(), seed, next, unused);
    reduce_kernel(call.type, call.op)(slot.input.data(), next.data(), next.data(), call.count);
    job.bootstrap.barrier();
    pass.run();
    const auto end = std::mismatch(next.begin(), next.end(), slot.output.begin());
    const std::size_t first = static_cast<std::size_t>(end.first - next.begin());
    const bool right = end.first == next.end();
    summary.add(right ? 0 : 1, right ? std::optional(0.0) : std::nullopt,
                fmt::format("byte {} differs", first));
  }
  summary.iterations = context.options().check;
  context.record_check(row, summary);
}

void run_row(BenchContext& context, const Call& call, std::uint64_t asked, Stores stores) {
  Job& job = context.job();
  Row row = context.new_row();
  describe(context, row, call, asked, stores);
  if (!job.transport.capabilities().mapped_memory) {
    return context.skip(
        std::move(row),
        fmt::format("transport {} has no memory that peers read in place", job.transport.name()));
  }
  context.announce("bound/one-pass", row);
  const std::uint64_t bytes = slot_bytes(call, job.rank(), job.size(), false);
  const std::string shortage = memory_shortage(job, 2 * bytes, context.nodes().largest);
  if (!shortage.empty()) return context.skip(std::move(row), shortage);
  OnePass pass(job, call, stores);
  fill_input(pass.slot().call, job.rank(), job.size(), context.options().seed, pass.slot().input,
             pass.slot().output);
  context.probe(row, 0);
  const Series series = measure_collective(job, context.clocks(), context.options().sampling, {},
                                           [&pass] { pass.run(); });
  context.probe(row, 1);
  context.record_series(row, series);
  if (context.options().check != 0) check(context, pass, call, row);
  pass.finish(job.bootstrap);
  context.emit(row, series);
}

void run_bound(BenchContext& context) {
  // Below this nothing leaves the caches, and streaming stores only lose.
  constexpr std::uint64_t streaming_bytes = 256 * 1024;
  for (const std::uint64_t asked : context.sizes()) {
    Call call;
    call.collective = Collective::allreduce;
    call.type = context.options().dtype;
    call.op = context.options().op;
    call.count = asked / size_of(call.type);
    run_row(context, call, asked, Stores::cached);
    if (asked >= streaming_bytes) run_row(context, call, asked, Stores::streaming);
  }
}

}  // namespace

extern const Benchmark benchmark_bound{
    .name = "bound",
    .summary =
        "a flag, then one pass that adds the next rank's vector to the own: what an "
        "allreduce of 2 ranks in one pass cannot beat; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "8:64M",
    .collective = Collective::allreduce,
    .run = run_bound};

}  // namespace commtune
