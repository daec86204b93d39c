#include "microbench/one_sided.hpp"

#include <exception>
#include <memory>

#include "core/error.hpp"
#include "microbench/countdown.hpp"
#include "microbench/point_to_point.hpp"
#include "transports/one_sided.hpp"

namespace commtune {
namespace {

/// Accesses of one pattern. The message that ends a run of patterns, while rank 1 polls, is spread
/// over as many.
constexpr std::uint64_t accesses = 64;

/// A region that all ranks give back together: none may go while another uses it.
class SharedRegion {
 public:
  SharedRegion(Job& job, std::size_t bytes)
      : job_(job), region_(job.transport.one_sided()->allocate_region(job.bootstrap, bytes)) {}
  ~SharedRegion() {
    if (std::uncaught_exceptions() != exceptions_) return;
    try {
      job_.bootstrap.barrier();
    } catch (const std::exception&) {  // the job has failed, which is told elsewhere
    }
  }
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  Region& operator*() const noexcept { return *region_; }

 private:
  Job& job_;
  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Region> region_;
};

void access(Region& region, bool puts, std::span<std::byte> data, Completion completion) {
  if (puts) {
    region.post_put(1, 0, data, completion);
  } else {
    region.post_get(1, 0, data, completion);
  }
}

void flush(Job& job, Region& region, Countdown& open) {
  open.expect(1);
  region.post_flush(1, open.one());
  open.wait(job.transport);
}

void run_pattern(Job& job, Region& region, const OneSidedPattern& pattern, Rotation& memory,
                 std::uint64_t first) {
  Countdown open;
  const std::uint64_t together = pattern.windows ? accesses : 1;
  for (std::uint64_t done = 0; done < accesses; done += together) {
    open.expect(together);
    for (std::uint64_t k = 0; k < together; ++k) {
      access(region, pattern.puts, memory.at(first + done + k), open.one());
    }
    open.wait(job.transport);
    if (pattern.puts) flush(job, region, open);
  }
}

/// Rank 0 acts; rank 1 polls until told that it is over.
void transfer(Job& job, Region& region, const OneSidedPattern& pattern, Rotation& memory,
              std::uint64_t repeats) {
  if (job.rank() == 1) return job.transport.recv(0, {});
  for (std::uint64_t i = 0; i < repeats; ++i) {
    run_pattern(job, region, pattern, memory, i * accesses);
  }
  job.transport.send(1, {});
}

/// The data lies at its source before, and is compared where it was to go.
PatternResult checked(Job& job, Region& region, const OneSidedPattern& pattern, Rotation& memory,
                      std::uint64_t seed) {
  const std::span<std::byte> message = memory.at(0);
  const bool source = pattern.puts == (job.rank() == 0);
  const std::span<std::byte> place =
      job.rank() == 0 ? message : region.mine().first(message.size());
  fill_pattern(place, source ? seed : ~seed, 0);
  if (job.rank() == 1) {
    job.transport.send(0, {});  // ready
    job.transport.recv(0, {});  // polls until rank 0 is done
    return source ? PatternResult{} : check_pattern(place, seed, 0);
  }
  job.transport.recv(1, {});
  Countdown open;
  open.expect(1);
  access(region, pattern.puts, message, open.one());
  open.wait(job.transport);
  if (pattern.puts) flush(job, region, open);
  job.transport.send(1, {});
  return source ? PatternResult{} : check_pattern(place, seed, 0);
}

}  // namespace

void run_one_sided(BenchContext& context, const OneSidedPattern& pattern) {
  Job& job = context.job();
  if (job.transport.one_sided() == nullptr) {
    return context.skip(context.new_row(),
                        fmt::format("transport {} has no one-sided access", job.transport.name()));
  }
  run_point_to_point(context, [&job, pattern](std::uint64_t bytes) {
    const auto region = std::make_shared<SharedRegion>(job, bytes);
    return PointToPoint{.messages = pattern.windows ? accesses : 1,
                        .divisor = pattern.windows ? 1.0 : static_cast<double>(accesses),
                        .check_area = 0,
                        .transfer =
                            [region, pattern](Job& ranks, Rotation& memory, std::uint64_t repeats) {
                              transfer(ranks, **region, pattern, memory, repeats);
                            },
                        .checked =
                            [region, pattern](Job& ranks, Rotation& memory, std::uint64_t seed) {
                              return checked(ranks, **region, pattern, memory, seed);
                            }};
  });
}

}  // namespace commtune
