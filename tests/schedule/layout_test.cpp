#include "collectives/schedule/layout.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

using Range = BlockSpace::Range;

std::vector<std::uint64_t> sizes(const Layout& layout, std::uint32_t blocks) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t block = 0; block < blocks; ++block) all.push_back(layout.elements(block, 1));
  return all;
}
std::vector<std::uint64_t> offsets(const Layout& layout, const Range& range) {
  const BufferLayout buffer(layout, range);
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 0; i < range.count; ++i) all.push_back(buffer.offset(range.block(i)));
  return all;
}
using Numbers = std::vector<std::uint64_t>;

TEST(Layout, gives_the_first_blocks_the_odd_elements) {
  const Layout layout(3, {.each = 11}, 0, 11);
  EXPECT_EQ(sizes(layout, 3), (Numbers{4, 4, 3}));
  EXPECT_EQ(layout.elements(0, 3), 11U);
  EXPECT_EQ(offsets(layout, {0, 3}), (Numbers{0, 4, 8}));
}

TEST(Layout, leaves_blocks_empty_when_there_are_fewer_elements) {
  const Layout layout(5, {.each = 2}, 0, 2);
  EXPECT_EQ(sizes(layout, 5), (Numbers{1, 1, 0, 0, 0}));
  EXPECT_EQ(offsets(layout, {0, 5}), (Numbers{0, 1, 2, 2, 2}));
  EXPECT_EQ(Layout(5, {.each = 0}, 0, 0).elements(0, 5), 0U);
}

TEST(Layout, selects_a_window_of_every_part) {
  const Layout layout(2, {.each = 10}, 4, 5);  // 3 parts of 2 blocks
  EXPECT_EQ(sizes(layout, 6), (Numbers{3, 2, 3, 2, 3, 2}));
  EXPECT_EQ(layout.elements(1, 4), 10U);
  EXPECT_EQ(offsets(layout, {0, 6}), (Numbers{4, 7, 14, 17, 24, 27}));
  EXPECT_EQ(offsets(layout, {2, 2}), (Numbers{4, 7}));  // the input of rank 1
}

TEST(Layout, windows_cover_the_vector_without_overlap) {
  std::uint64_t covered = 0;
  for (std::uint64_t begin = 0; begin < 23; begin += 5) {
    const Layout layout(4, {.each = 23}, begin, std::min<std::uint64_t>(5, 23 - begin));
    for (std::uint32_t block = 0; block < 4; ++block) {
      EXPECT_EQ(BufferLayout(layout, {0, 4}).offset(block), covered);
      covered += layout.elements(block, 1);
    }
  }
  EXPECT_EQ(covered, 23U);
}

TEST(Layout, binds_parts_of_different_sizes_and_empty_ones) {
  const Numbers parts{5, 0, 3, 1};
  const Layout layout(2, {.parts = parts}, 0, 5);
  EXPECT_EQ(sizes(layout, 8), (Numbers{3, 2, 0, 0, 2, 1, 1, 0}));
  EXPECT_EQ(layout.elements(0, 8), 9U);
  EXPECT_EQ(layout.elements(1, 4), 4U);
  EXPECT_EQ(layout.elements(2, 2), 0U);
  EXPECT_EQ(offsets(layout, {0, 8}), (Numbers{0, 3, 5, 5, 5, 7, 8, 9}));
  EXPECT_EQ(offsets(layout, {4, 2}), (Numbers{0, 2}));  // the input of rank 2
}

TEST(Layout, shorter_parts_leave_windows_empty) {
  const Numbers parts{5, 0, 3, 1};
  const Layout layout(1, {.parts = parts}, 2, 2);
  EXPECT_EQ(sizes(layout, 4), (Numbers{2, 0, 1, 0}));
  EXPECT_EQ(offsets(layout, {0, 4}), (Numbers{2, 5, 7, 9}));
  const Layout last(1, {.parts = parts}, 4, 1);
  EXPECT_EQ(sizes(last, 4), (Numbers{1, 0, 0, 0}));
}

TEST(Layout, windows_of_uneven_parts_cover_every_element_once) {
  const Numbers parts{5, 0, 3, 7, 1};
  std::vector<int> covered(16, 0);
  for (std::uint64_t begin = 0; begin < 7; begin += 3) {
    const Layout layout(2, {.parts = parts}, begin, std::min<std::uint64_t>(3, 7 - begin));
    const BufferLayout buffer(layout, {0, 10});
    for (std::uint32_t block = 0; block < 10; ++block) {
      for (std::uint64_t i = 0; i < layout.elements(block, 1); ++i) {
        ++covered[buffer.offset(block) + i];
      }
    }
  }
  EXPECT_EQ(covered, std::vector<int>(16, 1));
}

TEST(Layout, binds_an_uneven_alltoall) {
  // 3 ranks, parts[from * 3 + to]
  const Numbers parts{1, 2, 0, 4, 0, 3, 5, 6, 1};
  const Layout layout(1, {.parts = parts}, 0, 6);
  const BlockSpace space = block_space(Collective::alltoall, {1, 3, 0, false}, 1);
  EXPECT_EQ(offsets(layout, space.input), (Numbers{0, 4, 4}));   // 4, 0, 3
  EXPECT_EQ(offsets(layout, space.output), (Numbers{0, 2, 2}));  // 2, 0, 6
  EXPECT_EQ(layout.elements(3, 3), 7U);
}

TEST(Layout, reaches_beyond_32_bits) {
  constexpr std::uint64_t half = std::uint64_t{1} << 31, huge = (std::uint64_t{1} << 32) + 3;
  const Layout vector(2, {.each = huge}, 0, huge);
  EXPECT_EQ(sizes(vector, 2), (Numbers{half + 2, half + 1}));
  EXPECT_EQ(offsets(vector, {0, 2}), (Numbers{0, half + 2}));
  const Layout parts(1, {.each = huge}, huge - 1, 1);
  EXPECT_EQ(offsets(parts, {0, 3}), (Numbers{huge - 1, 2 * huge - 1, 3 * huge - 1}));
  EXPECT_EQ(parts.elements(0, 3), 3U);
  const Numbers uneven{half, 1, huge, 2};
  const Layout mixed(1, {.parts = uneven}, 0, huge);
  EXPECT_EQ(offsets(mixed, {0, 4}), (Numbers{0, half, half + 1, half + 1 + huge}));
  EXPECT_EQ(mixed.elements(0, 4), half + huge + 3);
  // A million parts of 2^20 elements: 2^40 in all.
  const Layout many(1, {.each = 1 << 20}, 0, 1 << 20);
  EXPECT_EQ(BufferLayout(many, {0, 1 << 20}).offset((1 << 20) - 1),
            (std::uint64_t{1} << 40) - (1 << 20));
}

TEST(Layout, refuses_a_window_beyond_the_largest_part) {
  EXPECT_NE(usage_error([] { Layout(2, {.each = 8}, 4, 5); }), "");
  EXPECT_NE(usage_error([] { Layout(2, {.each = 8}, 9, 0); }), "");
  const Numbers parts{2, 8};
  EXPECT_EQ(usage_error([&] { Layout(2, {.parts = parts}, 4, 4); }), "");
  EXPECT_NE(usage_error([&] { Layout(2, {.parts = parts}, 4, 5); }), "");
}

}  // namespace
}  // namespace commtune
