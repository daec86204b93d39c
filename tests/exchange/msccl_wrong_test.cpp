#include "collectives/exchange/import.hpp"
#include "support.hpp"

namespace commtune::test {
namespace {

std::string refused(const ProgramText& program, Errc code = Errc::wrong_result) {
  return error_of([&] { import_msccl(xml_of(program), "f"); }, code);
}

TEST(WrongMscclProgram, a_deadlock_is_told_step_by_step) {
  ProgramText program = exchange_program(false);
  for (auto& gpu : program.gpus) std::swap(gpu[0].steps[0], gpu[0].steps[1]);
  EXPECT_EQ(refused(program),
            "f: deadlock: gpu 0 tb 0 step 0 (rrc) waits for a message from gpu 1 on channel 0; "
            "gpu 1 tb 0 step 0 (rrc) waits for a message from gpu 0 on channel 0");
}

TEST(WrongMscclProgram, thread_blocks_that_wait_for_each_other_deadlock) {
  ProgramText program = exchange_program(false);
  program.gpus[0][0].steps[0].wait_block = 1;
  program.gpus[0][0].steps[0].wait_step = 0;
  program.gpus[0][0].steps[1].signals = true;
  program.gpus[0].push_back({-1, -1, 1, {{"nop", "i-1", "i-1", 0, 0, 1, true}}});
  EXPECT_EQ(refused(program),
            "f: deadlock: gpu 0 tb 0 step 0 (s) waits for gpu 0 tb 1 step 0 (nop); gpu 0 tb 1 step "
            "0 (nop) waits for gpu 0 tb 0 step 1 (rrc)");
}

TEST(WrongMscclProgram, that_is_short_cannot_ask_for_much_memory) {
  ProgramText program = exchange_program(false);
  program.chunks = program.input_chunks = program.output_chunks = 1 << 20;
  for (int i = 0; i < 2; ++i) program.gpus.push_back({});
  test::expect_contains(refused(program, Errc::usage),
                        "4 gpus with 1048576 chunks of input and output each are more than");
  program.chunks = program.input_chunks = program.output_chunks = 4;
  program.scratch_chunks = 1 << 20;
  for (int i = 0; i < 1; ++i) program.gpus.push_back({});
  test::expect_contains(refused(program, Errc::usage), "chunks of scratch in all");
}

TEST(WrongMscclProgram, a_message_nobody_sends) {
  ProgramText program = exchange_program(false);
  program.gpus[1][0].steps.erase(program.gpus[1][0].steps.begin());
  EXPECT_EQ(refused(program),
            "f: deadlock: gpu 0 tb 0 step 1 (rrc) waits for a message from gpu 1 on channel 0, but "
            "its tb 0 has ended");
}

TEST(WrongMscclProgram, a_message_nobody_receives) {
  ProgramText program = exchange_program(false);
  program.gpus[0][0].steps.push_back({"s", "i0", "i0"});
  EXPECT_EQ(refused(program),
            "f: gpu 0 tb 0 step 2 (s): gpu 1 never receives what this sends on channel 0");
}

TEST(WrongMscclProgram, a_wrong_chunk_does_not_add_up) {
  ProgramText program = exchange_program(false);
  for (auto& gpu : program.gpus) {
    for (StepText& step : gpu[0].steps) step.count = 1;
  }
  program.gpus[0][0].steps[0].src = "i1";
  EXPECT_EQ(refused(program), "f: gpu 1 tb 0 step 1 (rrc): adds block 1 to block 0");
}

TEST(WrongMscclProgram, a_chunk_in_the_wrong_place_is_found) {
  ProgramText program = ring_program();
  program.gpus[1][0].steps[3].dst = "o0";
  const std::string text = refused(program);
  expect_contains(
      text,
      "f: allgather of 3 ranks out of place\nunwritten: rank 1: nothing writes output block 2");
  expect_contains(text, "gpu 1: the place of output block 0 holds block 2 at the end");
}

TEST(WrongMscclProgram, a_missing_reduction_leaves_a_wrong_value) {
  ProgramText program = exchange_program(false);
  program.gpus[1][0].steps[1].type = "r";
  const std::string text = refused(program);
  expect_contains(text, "wrong_value: rank 1: output block 0 is wrong");
  expect_contains(text, "block 0 of rank 1's output holds the inputs of 0\n");
}

TEST(WrongMscclProgram, a_missing_wait_is_a_race) {
  ProgramText program = exchange_program(true);
  // The sum moves to a second thread block that does not wait for the send.
  for (auto& gpu : program.gpus) {
    const int peer = gpu[0].send;
    gpu[0].recv = -1;
    gpu.push_back({-1, peer, 0, {gpu[0].steps.back()}});
    gpu[0].steps.pop_back();
  }
  EXPECT_EQ(refused(program),
            "f: gpu 0 tb 1 step 0 (rrc): race: writes i[0], and nothing orders it after gpu 0 tb 0 "
            "step 0 (s), which accesses it");
  for (auto& gpu : program.gpus) {
    gpu[0].steps[0].signals = true;
    gpu[1].steps[0].wait_block = 0;
    gpu[1].steps[0].wait_step = 0;
  }
  EXPECT_EQ(import_msccl(xml_of(program), "f").in_place.size(), 2U);
}

TEST(WrongMscclProgram, reading_what_nothing_wrote) {
  ProgramText program = exchange_program(false);
  program.scratch_chunks = 1;
  program.gpus[0][0].steps[0] = {"s", "s0", "s0"};
  EXPECT_EQ(refused(program), "f: gpu 0 tb 0 step 0 (s): reads s[0], which nothing has written");
}

TEST(WrongMscclProgram, a_message_of_another_length) {
  ProgramText program = exchange_program(false);
  program.gpus[1][0].steps[1].count = 1;
  EXPECT_EQ(refused(program),
            "f: gpu 1 tb 0 step 1 (rrc): receives 1 chunks of a message of 2 from gpu 0");
}

struct Malformed {
  std::string from, to, message;
};
void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.to; }
class MalformedMsccl : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedMsccl, is_refused_by_name) {
  std::string xml = xml_of(exchange_program(false));
  const auto at = xml.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  xml.replace(at, GetParam().from.size(), GetParam().to);
  EXPECT_EQ(error_of([&] { import_msccl(xml, "f"); }, Errc::usage), "f: " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    one_fault, MalformedMsccl,
    testing::Values(
        Malformed{"type=\"rrc\"", "type=\"xyz\"",
                  "gpu 0 tb 0 step 1: unknown step type \"xyz\"; valid: s, r, cpy, re, rcs, rrc, "
                  "rrs, rrcs, nop"},
        Malformed{" srcoff=\"0\"", "", "gpu 0 tb 0 step 0: the attribute srcoff is missing"},
        Malformed{" srcoff=\"0\"", " srcoff=\"1\"",
                  "gpu 0 tb 0 step 0: srcoff=\"1\" with cnt=\"2\": the gpu has i_chunks=\"2\""},
        Malformed{" srcoff=\"0\"", " srcoff=\"x\"",
                  "gpu 0 tb 0 step 0: srcoff=\"x\" is not a whole number"},
        Malformed{" srcoff=\"0\"", " srcoff=\"0\" color=\"red\"",
                  "gpu 0 tb 0 step 0: unknown attribute color=\"red\""},
        Malformed{" srcoff=\"0\"", " srcoff=\"0\" srcoff=\"0\"",
                  "gpu 0 tb 0 step 0: the attribute srcoff is given twice"},
        Malformed{"srcbuf=\"i\"", "srcbuf=\"q\"",
                  "gpu 0 tb 0 step 0: unknown srcbuf \"q\"; valid: i, o, s"},
        Malformed{"send=\"1\"", "send=\"2\"", "gpu 0 tb 0: send=\"2\" is not between -1 and 1"},
        Malformed{"send=\"1\"", "send=\"0\"", "gpu 0 tb 0: gpu 0 is its own peer"},
        Malformed{"send=\"1\"", "send=\"-1\"",
                  "gpu 0 tb 0 step 0: s sends, but the thread block has send=\"-1\""},
        Malformed{"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\"",
                  "gpu 0 tb 0 step 0 (s): waits for itself or a later step of its thread block"},
        Malformed{"depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"",
                  "gpu 0 tb 0 step 0 (s): depid=\"3\": the gpu has 1 thread blocks"},
        Malformed{"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"-1\"",
                  "gpu 0 tb 0 step 0 (s): depid=\"0\" and deps=\"-1\" must both be given or both "
                  "be -1"},
        Malformed{"<step s=\"1\"", "<step s=\"4\"", "gpu 0 tb 0 step 1: s=\"4\", but 1 comes next"},
        Malformed{"ngpus=\"2\"", "ngpus=\"3\"", "algo: ngpus is 3, but there are 2 gpus"},
        Malformed{"coll=\"allreduce\"", "coll=\"allsum\"",
                  "algo: unknown coll \"allsum\"; valid: allreduce, allgather, reducescatter, "
                  "reduce_scatter, alltoall"},
        Malformed{"outofplace=\"1\"", "outofplace=\"0\"",
                  "algo: neither inplace nor outofplace is 1: there is nothing to run"},
        Malformed{"<tb id", "<block id", "line 6: Start-end tags mismatch"},
        Malformed{"</algo>", "</algo><algo/>", "something follows </algo>"}));

TEST(MalformedMscclWait, for_a_step_that_never_signals) {
  ProgramText program = exchange_program(false);
  program.gpus[0][0].steps[1].wait_block = 0;
  program.gpus[0][0].steps[1].wait_step = 0;
  EXPECT_EQ(refused(program, Errc::usage),
            "f: gpu 0 tb 0 step 1 (rrc): waits for tb 0 step 0, which has hasdep=\"0\" and never "
            "signals");
}

}  // namespace
}  // namespace commtune::test
