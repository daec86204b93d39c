#include <gtest/gtest.h>
#include <optional>
#include <sched.h>
#include <vector>

#include "harness/machine_probe.hpp"
#include "harness/proc_texts.hpp"

namespace commtune {
namespace {

TEST(ProcessorTime, counts_steal_and_leaves_guest_time_out) {
  const ProcessorTime time =
      parse_processor_time("cpu  10 20 30 400 5 6 7 80 1000 2000\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  EXPECT_EQ(time.steal, 80U);
  EXPECT_EQ(time.total, 558U);
}

TEST(ProcessorTime, is_zero_for_text_it_cannot_read) {
  for (const char* text :
       {"", "intr 1 2 3", "cpu 1 2 3", "cpu x", "cpu 18446744073709551615 0 0 0 0 0 0 1"}) {
    EXPECT_EQ(parse_processor_time(text).total, 0U) << text;
  }
}

TEST(CoreToCore, leaves_the_affinity_of_the_caller_alone) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const std::optional<double> one_way = core_to_core_ns();
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  if (one_way) {
    EXPECT_GT(*one_way, 0);
  }
}

TEST(CopyBandwidth, copies_all_bytes) {
  const std::vector<std::byte> from(1 << 20, std::byte{3});
  std::vector<std::byte> into(from.size());
  EXPECT_GT(copy_gbs(from, into), 0);
  EXPECT_EQ(from, into);
}

}  // namespace
}  // namespace commtune
