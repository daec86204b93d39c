#include "transports/rank_guard.hpp"

#include <gtest/gtest.h>
#include <semaphore>

#include "core/error.hpp"

namespace commtune::test {
namespace {

/// Waits for the guard to end the process.
[[noreturn]] void wait_for_ever() {
  std::binary_semaphore never(0);
  for (;;) never.acquire();
}

class RankGuardDeath : public ::testing::Test {
 protected:
  RankGuardDeath() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static void told_to_end(const std::function<void(RankGuard&)>& before) {
    MonitorSlot slot;
    RankGuard guard(slot, 0, 0, {});
    before(guard);
    slot.enter(Phase::terminated);
    wait_for_ever();
  }
};

TEST_F(RankGuardDeath, at_work_says_that_another_rank_was_lost) {
  EXPECT_EXIT(told_to_end([](RankGuard&) {}), testing::ExitedWithCode(exit_rank_lost),
              "rank 0: ended by the launcher in .*: another rank was lost");
}

TEST_F(RankGuardDeath, that_had_failed_before_keeps_its_own_reason_and_status) {
  EXPECT_EXIT(
      told_to_end([](RankGuard& guard) { guard.arm(3600, exit_usage, "--root: 9 is not a rank"); }),
      testing::ExitedWithCode(exit_usage), "^commtune: rank 0: --root: 9 is not a rank\n$");
}

TEST_F(RankGuardDeath, that_had_told_its_failure_says_nothing_more) {
  EXPECT_EXIT(told_to_end([](RankGuard& guard) { guard.arm(3600, exit_usage, {}); }),
              testing::ExitedWithCode(exit_usage), "^$");
}

TEST_F(RankGuardDeath, that_had_succeeded_says_that_another_rank_was_lost) {
  EXPECT_EXIT(told_to_end([](RankGuard& guard) { guard.arm(3600, 0, "no finalize"); }),
              testing::ExitedWithCode(exit_rank_lost), "another rank was lost");
}

TEST_F(RankGuardDeath, late_for_its_deadline_ends_with_the_message) {
  EXPECT_EXIT(
      {
        MonitorSlot slot;
        RankGuard guard(slot, 3, 0, {});
        guard.arm(0, 1, "too late");
        wait_for_ever();
      },
      testing::ExitedWithCode(1), "rank 3: too late");
}

}  // namespace
}  // namespace commtune::test
