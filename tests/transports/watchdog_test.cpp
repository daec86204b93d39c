#include "transports/watchdog.hpp"

#include <gtest/gtest.h>

namespace commtune::test {
namespace {

TEST(ProcessState, follows_the_last_bracket) {
  EXPECT_TRUE(halted_by_stat("42 (sh) T 1 42"));
  EXPECT_TRUE(halted_by_stat("42 (a) S b) t 1 42"));
  EXPECT_FALSE(halted_by_stat("42 (a) T b) S 1 42"));
}

TEST(ProcessState, of_a_text_that_is_cut_off_is_not_halted) {
  for (const char* text : {"", "T", "TT", "42 (sh", "42 (sh)", "42 (sh) "}) {
    EXPECT_FALSE(halted_by_stat(text)) << text;
  }
}

}  // namespace
}  // namespace commtune::test
