#include <algorithm>
#include <gtest/gtest.h>

#include "harness/clock_sync.hpp"
#include "harness/measure.hpp"
#include "on_ranks.hpp"

namespace commtune {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// Ranks 1 and 2 read a clock that is 3 s ahead and gains 200 ppm, rank 3 one that loses 100 ppm.
ClockMap four_ranks() {
  return {{0, 1, 1, 3}, {{}, {3 * second_ns, 3 * second_ns, 40}, {}, {0, 0, 25}}};
}
std::vector<ClockReading> ten_seconds_later() {
  return {{},
          {13 * second_ns + 2'000'000, 3 * second_ns + 2'000'000, 60},
          {},
          {10 * second_ns - 1'000'000, -1'000'000, 20}};
}

TEST(ClockMap, takes_a_clock_to_run_evenly_between_two_readings) {
  ClockMap clocks = four_ranks();
  clocks.end(ten_seconds_later());
  EXPECT_FALSE(clocks.shared());
  for (const std::int64_t now : {0L, 1L, 5L, 10L, 20L}) {
    const std::int64_t at = now * second_ns;
    const std::int64_t ahead = 3 * second_ns + now * 200'000, behind = now * -100'000;
    EXPECT_EQ(clocks.on_rank_zero(0, at), at);
    EXPECT_EQ(clocks.on_rank_zero(1, at + ahead), at) << now;
    EXPECT_EQ(clocks.on_rank_zero(2, at + ahead), at) << now;
    EXPECT_EQ(clocks.offset_ns(2, at + ahead), ahead) << now;
    EXPECT_EQ(clocks.on_rank_zero(3, at + behind), at) << now;
  }
}

TEST(ClockMap, with_the_first_reading_alone_is_off_by_the_drift) {
  const std::int64_t shown = 8 * second_ns + 1'000'000;  // 5 s after the first reading
  ClockMap clocks = four_ranks();
  EXPECT_EQ(clocks.on_rank_zero(1, shown), 5 * second_ns + 1'000'000);
  clocks.end(ten_seconds_later());
  EXPECT_EQ(clocks.on_rank_zero(1, shown), 5 * second_ns);
}

TEST(ClockMap, bounds_times_between_ranks_by_the_two_worst_clocks) {
  ClockMap clocks = four_ranks();
  EXPECT_EQ(clocks.error_us(), (41 + 26) * 1e-3);
  clocks.end(ten_seconds_later());
  EXPECT_EQ(clocks.error_us(), (61 + 26) * 1e-3);
  clocks.begin({{}, {14 * second_ns, 3 * second_ns, 10}, {}, {11 * second_ns, 0, 10}});
  EXPECT_EQ(clocks.error_us(), (11 + 11) * 1e-3);
  EXPECT_EQ(clocks.largest_error_us(), (61 + 26) * 1e-3);
  EXPECT_EQ(clocks.error_ns(0), 0);
  EXPECT_EQ(clocks.error_ns(2), 11);
}

TEST(ClockMap, tells_the_drift_since_the_first_reading_and_its_bound) {
  ClockMap clocks = four_ranks();
  EXPECT_FALSE(clocks.drift(1).has_value());
  clocks.end(ten_seconds_later());
  const auto drift = clocks.drift(2);
  ASSERT_TRUE(drift.has_value());
  EXPECT_EQ(drift->ppm, 200);
  EXPECT_EQ(drift->error_ppm, (40 + 60) / 1e10 * 1e6);
  EXPECT_EQ(clocks.drift(3)->ppm, -100);
}

TEST(ClockMap, of_one_clock_changes_nothing) {
  const ClockMap clocks(3);
  EXPECT_TRUE(clocks.shared());
  EXPECT_EQ(clocks.on_rank_zero(2, 12345), 12345);
  EXPECT_EQ(clocks.error_us(), 0);
  EXPECT_EQ(describe_clocks(clocks, {"a", "a", "a"}).dump(),
            R"({"clock_error_us":0.0,"clocks":[]})");
}

TEST(ClockMap, is_described_by_clock_with_the_host_of_its_first_rank) {
  ClockMap clocks = four_ranks();
  EXPECT_TRUE(describe_clocks(clocks, {"a", "b", "b", "c"})["clocks"][0]["drift_ppm"].is_null());
  clocks.end(ten_seconds_later());
  EXPECT_EQ(describe_clocks(clocks, {"a", "b", "b", "c"})["clocks"].dump(),
            R"([{"rank":1,"host":"b","offset_us":3002000.0,"error_us":0.06,"drift_ppm":200.0,)"
            R"("drift_error_ppm":0.01},{"rank":3,"host":"c","offset_us":-1000.0,"error_us":0.02,)"
            R"("drift_ppm":-100.0,"drift_error_ppm":0.0045}])");
}

TEST(ClockMap, refuses_readings_and_leaders_that_do_not_fit) {
  const std::vector<ClockReading> three(3);
  EXPECT_THROW(ClockMap({0, 0}, three), Error);
  EXPECT_THROW(ClockMap({0, 2, 2}, three), Error);
  EXPECT_THROW(ClockMap({0, 0, 1}, three), Error);
  EXPECT_THROW(ClockMap(2).end(three), Error);
}

TEST(Clocks, of_one_host_need_no_correction) {
  on_ranks(3, [](Job& job) {
    const ClockMap clocks = synchronise_clocks(job);
    check(clocks.shared(), "several clocks on one host");
    check(clocks.error_us() == 0, "error on one host");
  });
}

constexpr const char* hosts[] = {"a", "b", "c", "b", "d"};
constexpr Skew skews[] = {
    {0, 0}, {3 * second_ns, 200}, {-2 * second_ns, -150}, {3 * second_ns, 200}, {1'000, 350}};

/// Whether the map takes what the rank's clock showed to the true time within the stated error.
void check_within_error(const ClockMap& clocks, Rank rank, const SkewedClock::Look& look) {
  const std::int64_t off = clocks.on_rank_zero(rank, look.shown_ns) - look.true_ns;
  check(std::abs(off) <= clocks.error_ns(rank),
        fmt::format("rank {} is {} ns off, error bound {} ns", rank, off, clocks.error_ns(rank)));
}

// Rank 1 and rank 3, where there is one, share a host.
TEST(Clocks, of_other_hosts_are_found_within_the_stated_error_while_they_drift) {
  for (const int ranks : {2, 3, 5}) {
    on_ranks(ranks, [](Job& job) {
      const auto rank = static_cast<std::size_t>(job.rank());
      SkewedClock clock(job.transport, skews[rank]);
      Job remote{job.bootstrap, clock, job.monitor, {}};
      ClockMap clocks = synchronise_clocks(remote, hosts[rank]);
      check(clocks.error_us() > 0, "no error bound");
      clock.now_ns();
      const SkewedClock::Look early = clock.looks().back();

      clock.advance(1500 * second_ns);
      clock.now_ns();
      const SkewedClock::Look middle = clock.looks().back();
      if (rank != 0) {
        const std::int64_t off = clocks.on_rank_zero(job.rank(), middle.shown_ns) - middle.true_ns;
        check(static_cast<double>(std::abs(off)) > clocks.error_us() * 1e3,
              "without the drift the error bound holds all the same");
      }
      clock.advance(1500 * second_ns);
      clocks.end(read_clocks(remote, clocks));
      check_within_error(clocks, job.rank(), early);
      check_within_error(clocks, job.rank(), middle);
      for (Rank r = 1; r < job.size(); ++r) {
        const auto drift = clocks.drift(r);
        const auto ppm = static_cast<double>(skews[static_cast<std::size_t>(r)].ppm);
        check(drift && std::abs(drift->ppm - ppm) <= drift->error_ppm, "drift beyond its bound");
        check(drift->error_ppm < 30, "the bound of the drift says nothing");
      }
    });
  }
}

// Between two calls 100 s pass, in which clocks drift apart by up to 50 ms.
TEST(MeasureCollective, puts_the_stamps_of_drifting_clocks_on_one_clock) {
  for (const int ranks : {2, 3, 5}) {
    on_ranks(ranks, [](Job& job) {
      constexpr std::size_t iterations = 9;
      const auto rank = static_cast<std::size_t>(job.rank());
      SkewedClock clock(job.transport, skews[rank]);
      Job remote{job.bootstrap, clock, job.monitor, {}};
      ClockMap clocks = synchronise_clocks(remote, hosts[rank]);
      SamplingOptions options;
      options.iterations = iterations;
      options.warmup = 1;
      std::vector<std::size_t> entries;
      const Series series = measure_collective(
          remote, clocks, options, [&](std::uint64_t) { clock.advance(100 * second_ns); },
          [&] { entries.push_back(clock.looks().size() - 1); });
      check(series.stamps.size() == iterations, "wrong number of stamps");
      check(series.clock_error_us == clocks.error_us(), "not the clocks' error");
      const std::size_t skipped = entries.size() - iterations;  // warm-up
      const std::int64_t mine = clocks.error_ns(job.rank());
      const auto error = static_cast<std::int64_t>(series.clock_error_us * 1e3 + 0.5);
      for (std::size_t i = 0; i < iterations; ++i) {
        const auto& entry = clock.looks()[entries[skipped + i]];
        const auto& exit = clock.looks()[entries[skipped + i] + 1];
        check(series.stamps[i].in_ns == clocks.on_rank_zero(job.rank(), entry.shown_ns),
              "not the stamp of this call");
        check(std::abs(series.stamps[i].in_ns - entry.true_ns) <= mine, "entry is off");
        check(std::abs(series.stamps[i].out_ns - exit.true_ns) <= mine, "exit is off");
        const auto ins = allgather_value(job.bootstrap, entry.true_ns);
        const auto outs = allgather_value(job.bootstrap, exit.true_ns);
        const Iteration& found = series.iterations[i];
        const std::int64_t true_in = *std::max_element(ins.begin(), ins.end());
        check(std::abs(found.last_in_ns - true_in) <= error, "last in is off");
        const std::int64_t true_out = *std::max_element(outs.begin(), outs.end());
        check(std::abs(found.last_out_ns - true_out) <= error, "last out is off");
        check(series.samples_us[i] == found.time_us(), "the sample is not its iteration's time");
      }
    });
  }
}

bool flagged(const Series& series, const std::string& flag) {
  return std::find(series.flags.begin(), series.flags.end(), flag) != series.flags.end();
}

// First reading the clock takes rank 0 a second; then every call takes 1000 s.
TEST(MeasureCollective, flags_a_clock_error_of_more_than_a_tenth_of_the_time) {
  on_ranks(3, [](Job& job) {
    const auto rank = static_cast<std::size_t>(job.rank());
    SkewedClock clock(job.transport, skews[rank]);
    Job remote{job.bootstrap, clock, job.monitor, {}};
    ClockMap clocks = synchronise_clocks(remote, hosts[rank]);
    SamplingOptions options;
    options.iterations = 3;
    options.warmup = 1;
    clock.tick(rank == 0 ? second_ns : 0);
    const Series vague = measure_collective(
        remote, clocks, options, [&](std::uint64_t) { clock.tick(0); }, [] {});
    check(vague.clock_error_us >= 0.5e6, "the error is too small");
    check(flagged(vague, "clock_error"), "not flagged");
    const Series clear =
        measure_collective(remote, clocks, options, {}, [&] { clock.advance(1000 * second_ns); });
    check(!flagged(clear, "clock_error"), "flagged");
    ClockMap one(job.size());
    check(!flagged(measure_collective(job, one, options, {}, [] {}), "clock_error"),
          "flagged with one clock");
  });
}

}  // namespace
}  // namespace commtune
