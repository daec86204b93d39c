#include "collectives/schedule/layout.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

TEST(Layout, gives_the_first_blocks_the_odd_elements) {
  const Layout layout(Collective::allreduce, 3, 3, 11, 0, 11);
  EXPECT_EQ(layout.elements(0, 1), 4U);
  EXPECT_EQ(layout.elements(1, 1), 4U);
  EXPECT_EQ(layout.elements(2, 1), 3U);
  EXPECT_EQ(layout.elements(0, 3), 11U);
  EXPECT_EQ(layout.offset(2), 8U);
  EXPECT_TRUE(layout.contiguous(0, 3));
}

TEST(Layout, leaves_blocks_empty_when_there_are_fewer_elements) {
  const Layout layout(Collective::broadcast, 5, 5, 2, 0, 2);
  EXPECT_EQ(layout.elements(1, 1), 1U);
  EXPECT_EQ(layout.elements(2, 3), 0U);
  EXPECT_EQ(layout.offset(4), 2U);
  const Layout nothing(Collective::broadcast, 5, 5, 0, 0, 0);
  EXPECT_EQ(nothing.elements(0, 5), 0U);
}

TEST(Layout, selects_a_window_of_every_part) {
  const Layout layout(Collective::allgather, 3, 2, 10, 4, 5);  // 3 parts of 2 blocks
  EXPECT_EQ(layout.elements(0, 1), 3U);
  EXPECT_EQ(layout.elements(1, 1), 2U);
  EXPECT_EQ(layout.elements(1, 4), 10U);
  EXPECT_EQ(layout.offset(0), 4U);
  EXPECT_EQ(layout.offset(1), 7U);
  EXPECT_EQ(layout.offset(2), 14U);
  EXPECT_EQ(layout.offset(5), 27U);
  EXPECT_TRUE(layout.contiguous(2, 2));
  EXPECT_FALSE(layout.contiguous(1, 2));
}

TEST(Layout, parts_lie_together_when_the_window_is_the_whole_part) {
  const Layout layout(Collective::reduce_scatter, 4, 1, 7, 0, 7);
  EXPECT_TRUE(layout.contiguous(0, 4));
  EXPECT_EQ(layout.elements(0, 4), 28U);
  EXPECT_EQ(layout.offset(3), 21U);
}

TEST(Layout, windows_cover_the_vector_without_overlap) {
  std::uint64_t covered = 0;
  for (std::uint64_t begin = 0; begin < 23; begin += 5) {
    const Layout layout(Collective::allreduce, 4, 4, 23, begin,
                        std::min<std::uint64_t>(5, 23 - begin));
    for (std::uint32_t block = 0; block < 4; ++block) {
      EXPECT_EQ(layout.offset(block), covered);
      covered += layout.elements(block, 1);
    }
  }
  EXPECT_EQ(covered, 23U);
}

TEST(Layout, refuses_a_window_beyond_the_part) {
  EXPECT_NE(usage_error([] { Layout(Collective::allreduce, 2, 2, 8, 4, 5); }), "");
  EXPECT_NE(usage_error([] { Layout(Collective::allreduce, 2, 0, 8, 0, 8); }), "");
}

}  // namespace
}  // namespace commtune
