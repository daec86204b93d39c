#include <gtest/gtest.h>

#include "programs.hpp"

namespace commtune {
namespace {

using Range = BlockSpace::Range;

std::vector<std::uint32_t> blocks_of(const Range& range) {
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0; i < range.count; ++i) blocks.push_back(range.block(i));
  return blocks;
}

TEST(BlockSpace, numbers_vectors_from_zero_where_a_rank_has_them) {
  const Shape shape{2, 4, 1, false}, root{1, 4, 1, false}, first{0, 4, 1, false};
  const Range all{0, 3}, none{};
  EXPECT_EQ(block_space(Collective::allreduce, shape, 3), (BlockSpace{3, all, all}));
  EXPECT_EQ(block_space(Collective::scan, shape, 3), (BlockSpace{3, all, all}));
  EXPECT_EQ(block_space(Collective::exscan, shape, 3), (BlockSpace{3, all, all}));
  EXPECT_EQ(block_space(Collective::exscan, first, 3), (BlockSpace{3, all, none}));
  EXPECT_EQ(block_space(Collective::reduce, shape, 3), (BlockSpace{3, all, none}));
  EXPECT_EQ(block_space(Collective::reduce, root, 3), (BlockSpace{3, all, all}));
  EXPECT_EQ(block_space(Collective::broadcast, shape, 3), (BlockSpace{3, none, all}));
  EXPECT_EQ(block_space(Collective::broadcast, root, 3), (BlockSpace{3, all, all}));
  EXPECT_EQ(block_space(Collective::barrier, shape, 3), BlockSpace{});
}

TEST(BlockSpace, numbers_parts_by_rank) {
  const Shape shape{2, 4, 1, false}, root{1, 4, 1, false};
  const Range all{0, 12}, none{}, mine{6, 3}, roots{3, 3};
  EXPECT_EQ(block_space(Collective::allgather, shape, 3), (BlockSpace{12, mine, all}));
  EXPECT_EQ(block_space(Collective::gather, shape, 3), (BlockSpace{12, mine, none}));
  EXPECT_EQ(block_space(Collective::gather, root, 3), (BlockSpace{12, roots, all}));
  EXPECT_EQ(block_space(Collective::reduce_scatter, shape, 3), (BlockSpace{12, all, mine}));
  EXPECT_EQ(block_space(Collective::scatter, shape, 3), (BlockSpace{12, none, mine}));
  EXPECT_EQ(block_space(Collective::scatter, root, 3), (BlockSpace{12, all, roots}));
  EXPECT_EQ(block_space(Collective::sendrecv, shape, 3), (BlockSpace{12, mine, roots}));
  EXPECT_EQ(block_space(Collective::sendrecv, Shape{0, 4, 0, false}, 3),
            (BlockSpace{12, Range{0, 3}, Range{9, 3}}));
}

TEST(BlockSpace, numbers_alltoall_by_sender_and_receiver) {
  const BlockSpace space = block_space(Collective::alltoall, Shape{1, 3, 0, false}, 2);
  EXPECT_EQ(space.blocks, 18U);
  EXPECT_EQ(blocks_of(space.input), (std::vector<std::uint32_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(blocks_of(space.output), (std::vector<std::uint32_t>{2, 3, 8, 9, 14, 15}));
}

TEST(BlockSpace, refuses_more_blocks_than_can_be_numbered) {
  EXPECT_EQ(block_space(Collective::alltoall, {0, 65535, 0, false}, 1).blocks, 65535U * 65535U);
  EXPECT_EQ(usage_error([] {
              block_space(Collective::alltoall, {0, 65536, 0, false}, 1);
            }),
            "schedule: alltoall of 65536 ranks with 1 blocks per part has more blocks than can be "
            "numbered");
}

TEST(Range, finds_blocks_of_strided_runs) {
  const Range range{2, 6, 2, 6};  // 2 3, 8 9, 14 15
  for (const std::uint32_t block : {2U, 3U, 8U, 9U, 14U, 15U}) {
    EXPECT_TRUE(range.holds(block, 1)) << block;
    EXPECT_EQ(range.block(range.position(block)), block);
  }
  for (const std::uint32_t block : {0U, 1U, 4U, 7U, 10U, 13U, 16U, 20U, 21U, 0xffffffffU}) {
    EXPECT_FALSE(range.holds(block, 1)) << block;
  }
  EXPECT_TRUE(range.holds(8, 2));
  EXPECT_FALSE(range.holds(9, 2));
  EXPECT_FALSE(range.holds(2, 7));
  EXPECT_EQ(range.position(15), 5U);
  EXPECT_FALSE(Range{}.holds(0, 1));
}

TEST(Storage, shares_places_in_place_only) {
  const auto storage = [](Collective collective, Shape shape) {
    return Storage(block_space(collective, shape, 2), shape.in_place);
  };
  const Storage apart = storage(Collective::allgather, {1, 3, 0, false});
  EXPECT_EQ(apart.cells(), 8U);
  EXPECT_EQ(apart.cell(BufferId::input, 3), 1U);
  EXPECT_EQ(apart.cell(BufferId::output, 3), 5U);
  const Storage gathers = storage(Collective::allgather, {1, 3, 0, true});
  EXPECT_EQ(gathers.cells(), 6U);
  EXPECT_EQ(gathers.cell(BufferId::input, 3), gathers.cell(BufferId::output, 3));
  const Storage scatters = storage(Collective::reduce_scatter, {2, 3, 0, true});
  EXPECT_EQ(scatters.cells(), 6U);
  EXPECT_EQ(scatters.cell(BufferId::input, 5), scatters.cell(BufferId::output, 5));
  const Storage leaf = storage(Collective::gather, {1, 3, 0, true});
  EXPECT_EQ(leaf.cells(), 2U);
  EXPECT_EQ(leaf.cell(BufferId::input, 3), 1U);
}

TEST(Storage, alltoall_and_sendrecv_share_places_by_position) {
  const Storage all(block_space(Collective::alltoall, {1, 3, 0, true}, 2), true);
  EXPECT_EQ(all.cells(), 6U);
  EXPECT_EQ(all.cell(BufferId::input, 6), all.cell(BufferId::output, 2));
  EXPECT_EQ(all.cell(BufferId::input, 11), all.cell(BufferId::output, 15));
  EXPECT_EQ(all.cell(BufferId::input, 8), all.cell(BufferId::output, 8));  // its own
  const Storage ring(block_space(Collective::sendrecv, {1, 3, 0, true}, 2), true);
  EXPECT_EQ(ring.cells(), 2U);
  EXPECT_EQ(ring.cell(BufferId::input, 3), ring.cell(BufferId::output, 1));
}

}  // namespace
}  // namespace commtune
