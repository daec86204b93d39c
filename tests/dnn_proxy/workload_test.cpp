#include "dnn_proxy/workload.hpp"

#include <sstream>

#include "support.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;
using test::TemporaryFolder;

const char* const header =
    R"({"schema":"commtune.workload/1","format":"test","source":"t","world":2,"ranks":[0,1],)"
    R"("groups":[{"name":"world","ranks":[0,1]}],"steps":1,"exactness":{"has_time":true,)"
    R"("has_gap":false,"has_align":true,"sizes_from":"hook","compute_from":"stamps"},"notes":["n"]})";
const char* const allreduce =
    R"({"rank":0,"op":"collective","kind":"allreduce","group":"world","count":3,"bytes":12,)"
    R"("dtype":"float32","root":0,"async":7})";
const char* const wait_line = R"({"rank":0,"op":"wait","async":7})";

Workload parse(const std::string& text) {
  std::istringstream in(text);
  return parse_workload(in, "w.jsonl");
}
std::string lines(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part + "\n";
  return text;
}
std::string refusal(const std::vector<std::string>& parts) {
  return error_of([&] { parse(lines(parts)); });
}

Workload rich_workload() {
  Workload w;
  w.format = "test";
  w.source = "x.json";
  w.world = 3;
  w.ranks = {0, 2};
  w.groups = {{"world", {0, 1, 2}}, {"pair", {0, 2}}};
  w.exactness = {true, true, false, "annotations", "gpu_busy"};
  w.notes = {"a note", "with \"quotes\""};
  std::vector<WorkloadOp> program(7);
  program[0].op = WorkloadOpKind::mark;
  program[0].step = 9;
  program[1].duration_ns = 1'234'567'890'123;
  program[1].gap_ns = 5;
  program[2].op = WorkloadOpKind::collective;
  program[2].kind = CommKind::all_to_all;
  program[2].count = 10;
  program[2].dtype = DataType::int64;
  program[2].group = 1;
  program[2].send_splits = {3, 7};
  program[2].recv_splits = {4, 6};
  program[2].async_id = 0;
  program[3].op = WorkloadOpKind::p2p;
  program[3].kind = CommKind::send;
  program[3].count = 8;
  program[3].dtype = DataType::bfloat16;
  program[3].root = 2;
  program[4].op = WorkloadOpKind::wait;
  program[4].async_id = 0;
  program[5].op = WorkloadOpKind::collective;
  program[5].kind = CommKind::barrier;
  program[6].op = WorkloadOpKind::mark;
  program[6].mark = Mark::step_end;
  program[6].step = 9;
  program[6].recorded_ns = 77;
  w.programs = {program, program};
  return w;
}

TEST(Workload, survives_a_round_trip_through_text) {
  const Workload before = rich_workload();
  const Workload after = parse(format_workload(before));
  EXPECT_EQ(after, before);
  EXPECT_EQ(format_workload(after), format_workload(before));
}

TEST(Workload, survives_a_round_trip_through_a_file) {
  const TemporaryFolder folder;
  write_workload(folder / "w.jsonl", rich_workload());
  EXPECT_EQ(read_workload(folder / "w.jsonl"), rich_workload());
  EXPECT_FALSE(std::filesystem::exists(folder / "w.jsonl.tmp"));
}

TEST(Workload, reads_gzip) {
  const TemporaryFolder folder;
  const auto file = folder.write_gzip("w.jsonl.gz", format_workload(rich_workload()));
  EXPECT_EQ(read_workload(file), rich_workload());
}

TEST(Workload, reads_a_minimal_file) {
  const Workload w = parse(lines({header, allreduce, wait_line}));
  ASSERT_EQ(w.programs.size(), 2U);
  EXPECT_EQ(w.programs[0].size(), 2U);
  EXPECT_TRUE(w.programs[1].empty());
  EXPECT_EQ(describe(w.programs[0][0]), "allreduce 3 float32");
}

TEST(Workload, names_line_and_byte_of_an_error) {
  const std::string message = refusal({header, allreduce, R"({"rank":0,"op":"wait")"});
  expect_contains(message, "line 3");
  expect_contains(message, fmt::format("at byte {}", std::string(header).size() +
                                                         std::string(allreduce).size() + 2));
}

TEST(Workload, refuses_what_it_does_not_know_by_name) {
  expect_contains(
      refusal({header, R"({"rank":0,"op":"compute","duration_ns":1,"gap_ns":0,"x":1})"}), "x");
  expect_contains(refusal({header, R"({"rank":0,"op":"compute","gap_ns":1})"}), "duration_ns");
  expect_contains(refusal({header, R"({"rank":0,"op":"sleep"})"}), "\"sleep\"");
  expect_contains(refusal({header, R"({"rank":5,"op":"wait","async":1})"}), "rank 5");
  expect_contains(
      refusal({header,
               R"({"rank":0,"op":"collective","kind":"allshuffle","group":"world","count":3,)"
               R"("bytes":12,"dtype":"float32","root":0})"}),
      "\"allshuffle\"");
  expect_contains(
      refusal({header, R"({"rank":0,"op":"collective","kind":"allreduce","group":"tp","count":3,)"
                       R"("bytes":12,"dtype":"float32","root":0})"}),
      "\"tp\"");
  expect_contains(
      refusal({header,
               R"({"rank":0,"op":"collective","kind":"allreduce","group":"world","count":3,)"
               R"("bytes":12,"dtype":"float33","root":0})"}),
      "float33");
  expect_contains(
      refusal({header, R"({"rank":0,"rank":0,"op":"compute","duration_ns":1,"gap_ns":0})"}),
      "rank");
}

TEST(Workload, refuses_contradictions) {
  expect_contains(
      refusal({header,
               R"({"rank":0,"op":"collective","kind":"allreduce","group":"world","count":3,)"
               R"("bytes":13,"dtype":"float32","root":0})"}),
      "12 bytes, not 13");
  expect_contains(
      refusal({header,
               R"({"rank":0,"op":"collective","kind":"broadcast","group":"world","count":3,)"
               R"("bytes":12,"dtype":"float32","root":2})"}),
      "outside its group of 2");
  expect_contains(refusal({header, wait_line}), "not in flight");
  expect_contains(refusal({header, allreduce}), "never waited");
  expect_contains(refusal({header, allreduce, allreduce, wait_line}), "already in flight");
  expect_contains(refusal({header, R"({"rank":0,"op":"mark","kind":"step_end","step":1})"}),
                  "none began");
  expect_contains(refusal({header, R"({"rank":0,"op":"mark","kind":"step_begin","step":1})"}),
                  "no step_end");
  expect_contains(refusal({header, R"({"rank":0,"op":"compute","duration_ns":-1,"gap_ns":0})"}),
                  "duration_ns");
}

TEST(Workload, refuses_an_empty_or_cut_file) {
  expect_contains(error_of([] { parse(""); }), "empty");
  expect_contains(error_of([] { parse(std::string(header) + "\n"); }), "nothing to replay");
  expect_contains(error_of([] { parse(std::string(header) + "\n" + wait_line); }), "cut off");
  expect_contains(error_of([] { parse("{\"schema\":\"commtune.workload/2\"}\n"); }),
                  "commtune.workload/2");
}

TEST(Workload, keeps_the_steps_that_were_asked_for) {
  Workload w = rich_workload();
  for (auto& program : w.programs) {
    auto twice = program;
    for (WorkloadOp& op : twice)
      if (op.op == WorkloadOpKind::mark) op.step = 10;
    program.insert(program.end(), twice.begin(), twice.end());
  }
  EXPECT_EQ(count_steps(w.programs[0]), 2U);
  const Workload second = select_steps(w, 1, 1);
  ASSERT_EQ(count_steps(second.programs[1]), 1U);
  EXPECT_EQ(second.programs[1].front().step, 10U);
  EXPECT_EQ(second.programs[1].size(), rich_workload().programs[1].size());
  expect_contains(error_of([&] { select_steps(w, 1, 2); }), "has 2 steps");
}

TEST(Numbers, are_grouped_by_thousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(25557032), "25,557,032");
}

}  // namespace
}  // namespace commtune
