#include <algorithm>

#include "collectives/exchange/import.hpp"
#include "collectives/schedule/export.hpp"
#include "support.hpp"

namespace commtune::test {
namespace {

std::size_t steps_of_kind(const std::vector<Schedule>& schedules, StepKind kind) {
  std::size_t found = 0;
  for (const Schedule& schedule : schedules) {
    found += static_cast<std::size_t>(
        std::count_if(schedule.steps.begin(), schedule.steps.end(),
                      [kind](const Step& step) { return step.kind == kind; }));
  }
  return found;
}

TEST(MscclImport, keeps_the_order_of_the_program_where_it_can) {
  const auto schedule = import_msccl(xml_of(exchange_program(false)), "test");
  EXPECT_EQ(schedule.name, "test");
  EXPECT_EQ(schedule.collective, Collective::allreduce);
  EXPECT_EQ(schedule.ranks, 2);
  EXPECT_TRUE(schedule.in_place.empty());
  ASSERT_EQ(schedule.out_of_place.size(), 2U);
  EXPECT_EQ(to_text(schedule.out_of_place[1], 1),
            "rank 1 step 0: send to 0 from input blocks 0..1\n"
            "rank 1 step 1: recv from 0 into scratch[0] blocks 0..1\n"
            "rank 1 step 2: reduce scratch[0] and input into output blocks 0..1 after 1\n");
  EXPECT_TRUE(schedule.facts.keeps_order);
}

TEST(MscclImport, an_in_place_program_serves_both_placements) {
  const auto schedule = import_msccl(xml_of(exchange_program(true)), "test");
  EXPECT_EQ(schedule.out_of_place.size(), 2U);
  ASSERT_EQ(schedule.in_place.size(), 2U);
  EXPECT_EQ(to_text(schedule.in_place[0], 0),
            "rank 0 step 0: send to 1 from input blocks 0..1\n"
            "rank 0 step 1: recv from 1 into scratch[0] blocks 0..1\n"
            "rank 0 step 2: reduce input and scratch[0] into output blocks 0..1 after 0,1\n");
}

TEST(MscclImport, reads_every_collective_it_knows) {
  EXPECT_EQ(import_msccl(xml_of(ring_program()), "test").out_of_place.size(), 3U);
  ProgramText scatter{"reducescatter", 2, false, true, 2, 1, 1, {}};
  ProgramText all{"alltoall", 2, false, true, 2, 2, 0, {}};
  for (const int r : {0, 1}) {
    const int peer = 1 - r;
    const std::string own = fmt::format("i{}", r), other = fmt::format("i{}", peer);
    scatter.gpus.push_back(
        {{peer,
          peer,
          0,
          {{"s", other, "s0"}, {"r", "s0", "s0"}, {"cpy", own, "o0"}, {"re", "s0", "o0"}}}});
    all.gpus.push_back({{peer,
                         peer,
                         0,
                         {{"cpy", own, fmt::format("o{}", r)},
                          {"s", other, fmt::format("o{}", r)},
                          {"r", other, fmt::format("o{}", peer)}}}});
  }
  EXPECT_EQ(import_msccl(xml_of(scatter), "test").collective, Collective::reduce_scatter);
  EXPECT_EQ(import_msccl(xml_of(all), "test").collective, Collective::alltoall);
}

// The message on channel 1 is received first although the one on channel 0 was sent first.
TEST(MscclImport, pairs_messages_that_overtake_one_another_on_channels) {
  ProgramText program{"allgather", 4, false, true, 2, 4, 0, {}};
  for (const int r : {0, 1}) {
    const int peer = 1 - r;
    const auto own = [&](int i) { return fmt::format("o{}", 2 * r + i); };
    const auto other = [&](int i) { return fmt::format("o{}", 2 * peer + i); };
    program.gpus.push_back({{peer, -1, 0, {{"cpy", "i0", own(0)}, {"s", "i0", own(0)}}},
                            {peer, -1, 1, {{"cpy", "i1", own(1)}, {"s", "i1", own(1)}}},
                            {-1, peer, 0, {{"r", "i0", other(0), 1, 3, 0}}},
                            {-1, peer, 1, {{"r", "i1", other(1), 1, -1, -1, true}}}});
  }
  const auto schedule = import_msccl(xml_of(program), "test");
  EXPECT_EQ(steps_of_kind(schedule.out_of_place, StepKind::send), 4U);
}

// gpu 1 takes the message from i0 after gpu 0 has written a sum over i0.
TEST(MscclImport, saves_what_a_late_receiver_still_has_to_get) {
  ProgramText program{"allreduce", 2, true, false, 2, 0, 0, {}};
  program.gpus = {
      {{1, 1, 0, {{"s", "i0", "i0"}, {"rrc", "i0", "i0"}}},
       {1, 1, 1, {{"s", "i1", "i1"}, {"rrc", "i1", "i1"}}}},
      {{0, 0, 0, {{"s", "i0", "i0"}, {"rrc", "i0", "i0", 1, 1, 2}}},
       {0,
        0,
        1,
        {{"s", "i1", "i1"}, {"rrc", "i1", "i1"}, {"nop", "i-1", "i-1", 0, -1, -1, true}}}}};
  const auto schedule = import_msccl(xml_of(program), "test");
  EXPECT_EQ(steps_of_kind(schedule.in_place, StepKind::copy), 1U);
}

TEST(MscclImport, becomes_an_algorithm_that_refuses_other_shapes) {
  const auto algorithm = make_algorithm(import_msccl(xml_of(exchange_program(false)), "test"));
  EXPECT_EQ(refusal(*algorithm, {0, 2, 0, false}, {}), "");
  EXPECT_EQ(refusal(*algorithm, {0, 3, 0, false}, {}), "it was made for 2 ranks, not 3");
  EXPECT_EQ(refusal(*algorithm, {0, 2, 0, true}, {}), "it was not made to run in place");
  EXPECT_EQ(algorithm->needs, "2 ranks, out of place");
  EXPECT_FALSE(verify(*algorithm, {0, 2, 0, false}, {}).has_value());
  EXPECT_EQ(verify_cases(*algorithm, 2).size(), 1U);
  EXPECT_TRUE(verify_cases(*algorithm, 3).empty());
}

class MscclFiles : public testing::TestWithParam<const char*> {};

TEST_P(MscclFiles, import_and_are_proved) {
  const auto file = msccl_folder() / GetParam();
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << " is not here: set COMMTUNE_SHARED to a folder with traces/msccl/";
  }
  const auto schedule = import_msccl_file(file, GetParam());
  EXPECT_EQ(schedule.ranks, 8);
  EXPECT_EQ(schedule.out_of_place.size(), 8U);
  EXPECT_EQ(schedule.in_place.size(), schedule.collective == Collective::alltoall ? 0U : 8U);
}

INSTANTIATE_TEST_SUITE_P(published, MscclFiles,
                         testing::Values("allgather_ring_8r.xml", "allreduce_recdoubling_8r.xml",
                                         "allreduce_ring_8r_1ch_1i_LL128.xml",
                                         "alltoall_twostep_2x4.xml",
                                         "hierarchical_allreduce_2x4.xml"));

TEST(MscclFile, that_is_not_there_is_named) {
  const auto text =
      error_of([] { import_msccl_file("/nonexistent.xml", "--schedule x"); }, Errc::unavailable);
  EXPECT_EQ(text, "--schedule x: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace commtune::test
