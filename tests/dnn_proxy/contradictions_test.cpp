#include <sstream>

#include "dnn_proxy/importers/importer.hpp"
#include "dnn_proxy/replay.hpp"
#include "programs.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;
using test::ProgramText;
using test::TemporaryFolder;

std::string record(const std::string& name, const std::string& in, const std::string& out,
                   const std::string& ranks, const std::string& size,
                   const std::string& extra = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":2,)"
      R"("args":{{"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"dtype":"Float",)"
      R"("Group size":{},"Process Group Name":"g","Process Group Ranks":"{}"{}}}}})",
      name, in, out, size, ranks, extra);
}
std::string trace(const std::string& events, const std::string& distributed) {
  return fmt::format(R"({{"traceEvents":[{}],"distributedInfo":{}}})", events, distributed);
}
const char* const rank_0_of_4 = R"({"rank":0,"world_size":4})";

Import import_text(const std::string& text) {
  const TemporaryFolder folder;
  return import_trace(folder.write("t.json", text));
}
std::string refusal(const std::string& event, const std::string& distributed = rank_0_of_4) {
  return error_of([&] { import_text(trace(event, distributed)); });
}

TEST(KinetoSizes, that_overflow_are_refused_with_event_and_value) {
  for (const char* count : {"4611686018427387920", "9223372036854775808"}) {
    const std::string message = refusal(record("allreduce", count, count, "[0, 1, 2, 3]", "4"));
    expect_contains(message, "event 0");
    expect_contains(message, count);
  }
}

TEST(KinetoSizes, that_are_negative_are_called_negative) {
  const std::string message = refusal(record("allreduce", "-5", "-5", "[0, 1, 2, 3]", "4"));
  expect_contains(message, "-5 is negative");
  expect_contains(message, "event 0");
}

TEST(KinetoRank, outside_the_world_is_refused_with_both_values) {
  expect_contains(
      refusal(record("allreduce", "4", "4", "[0, 1]", "2"), R"({"rank":2,"world_size":2})"),
      "rank 2 of a world_size of 2");
}

TEST(KinetoGroup, that_contradicts_its_record_is_refused) {
  expect_contains(refusal(record("allreduce", "4", "4", "[0, 1]", "3")), "\"Group size\" is 3");
  expect_contains(refusal(record("allreduce", "4", "4", "[1, 2]", "2")), "recorded on rank 0");
  expect_contains(refusal(record("allreduce", "4", "4", "[]", "0")), "is empty");
}

TEST(KinetoGroup, that_is_empty_and_unused_is_skipped_with_a_note) {
  const Import import = import_text(trace(
      record("allreduce", "4", "4", "[0, 1]", "2"),
      R"({"rank":0,"world_size":2,"pg_config":[{"pg_name":"none","ranks":[],"pg_size":0}]})"));
  EXPECT_EQ(import.workload.groups.size(), 1U);
  std::string notes;
  for (const std::string& note : import.workload.notes) notes += note + "\n";
  expect_contains(notes, "\"none\" has no ranks");
}

TEST(KinetoSplits, must_cover_group_and_message) {
  const auto splits = [](const char* in) {
    return record("all_to_allv", "10", "10", "[0, 1, 2, 3]", "4",
                  fmt::format(R"(,"In split size":"{}")", in));
  };
  expect_contains(refusal(splits("[5, 5]")), "2 entries in a group of 4");
  expect_contains(refusal(splits("[1, 2, 3, 5]")), "sum to 11");
  EXPECT_EQ(import_text(trace(splits("[1, 2, 3, 4]"), rank_0_of_4)).workload.world, 4);
}

TEST(KinetoAllgather, must_receive_a_part_of_every_rank) {
  expect_contains(refusal(record("allgather", "10", "30", "[0, 1, 2, 3]", "4")), "expected 40");
}

TEST(RanksOfADirectory, that_disagree_are_refused_at_import) {
  const TemporaryFolder folder;
  folder.write("a.json",
               trace(record("allreduce", "4", "4", "[0, 1]", "2"), R"({"rank":0,"world_size":2})"));
  folder.write("b.json",
               trace(record("broadcast", "4", "4", "[0, 1]", "2"), R"({"rank":1,"world_size":2})"));
  const std::string message = error_of([&] { import_trace(folder.path()); });
  expect_contains(message, "operation 0 is \"allreduce 4 float32\"");
  expect_contains(message, "\"broadcast 4 float32, root 0\"");
}

TEST(RanksOfAWorkload, that_disagree_are_named_with_both_values) {
  ProgramText a, b;
  a.run(CommKind::allreduce, 4).run(CommKind::allreduce, 5);
  b.run(CommKind::allreduce, 4);
  Workload w = a.workload(2);
  w.ranks = {0, 1};
  w.programs.push_back(b.workload(2).programs[0]);
  const std::string message = error_of([&] { check_replayable(w, 2); });
  expect_contains(message, "operation 1 is \"allreduce 5 float32\"");
  expect_contains(message, "nothing more (1 operations in all)");
}

TEST(StepDescription, counts_runs_of_equal_operations) {
  ProgramText p;
  p.begin(1);
  for (int i = 0; i < 300; ++i) p.run(CommKind::allreduce, 1000);
  p.run(CommKind::broadcast, 2).end(1);
  EXPECT_EQ(describe_steps(p.workload(2)),
            "# step 1:\n#   allreduce 1,000 float32  x 300\n#   broadcast 2 float32\n");
}

Workload parse(const std::string& ops) {
  std::istringstream in(
      R"({"schema":"commtune.workload/1","world":2,"ranks":[0],"groups":[{"name":"g","ranks":[0,1]}]})"
      "\n" +
      ops);
  return parse_workload(in, "w.jsonl");
}

TEST(HandWrittenWorkload, needs_only_what_cannot_be_derived) {
  const Workload w = parse(
      R"({"rank":0,"op":"compute","flops":1000000,"shape":[100,50,100]})"
      "\n"
      R"({"rank":0,"op":"compute","duration_ns":5})"
      "\n"
      R"({"rank":0,"op":"collective","kind":"allreduce","group":"g","bytes":12,"dtype":"float32"})"
      "\n"
      R"({"rank":0,"op":"collective","kind":"all_to_all","group":"g","count":4,"dtype":"float32",)"
      R"("splits":{"send":[1,3],"recv":[2,2]}})"
      "\n"
      R"({"rank":0,"op":"collective","kind":"barrier","group":"g"})"
      "\n");
  const auto& ops = w.programs.at(0);
  EXPECT_EQ(ops[0].flops, 1'000'000U);
  EXPECT_EQ(ops[0].shape, (std::vector<std::uint64_t>{100, 50, 100}));
  EXPECT_EQ(ops[1].gap_ns, 0);
  EXPECT_EQ(ops[2].count, 3U);
  EXPECT_EQ(ops[3].recv_splits, (std::vector<std::uint64_t>{2, 2}));
  std::istringstream again(format_workload(w));
  EXPECT_EQ(parse_workload(again, "w.jsonl"), w);
  EXPECT_EQ(format_workload(w).find("\"root\""), std::string::npos);
  EXPECT_EQ(make_plan(w, 0, {0.5, false, 2}).steps[0].actions[0].compute_flops, 500'000U);
}

TEST(HandWrittenWorkload, refuses_sizes_and_splits_that_do_not_fit) {
  const auto refused = [](const std::string& rest) {
    return error_of([&] {
      parse(R"({"rank":0,"op":"collective","group":"g","dtype":"float32",)" + rest + "}\n");
    });
  };
  expect_contains(refused(R"("kind":"allreduce","bytes":13)"), "whole number");
  expect_contains(refused(R"("kind":"allreduce")"), "\"count\" or \"bytes\"");
  expect_contains(refused(R"("kind":"allreduce","count":4611686018427387920)"),
                  "4611686018427387920");
  expect_contains(refused(R"("kind":"allreduce","count":4,"root":1)"), "has no root");
  expect_contains(refused(R"("kind":"all_to_all","count":4,"splits":[1,2])"), "sum to 3");
  expect_contains(refused(R"("kind":"all_to_all","count":4,"splits":[4])"), "1 entries");
  expect_contains(error_of([] { parse("{\"rank\":0,\"op\":\"compute\"}\n"); }), "flops");
}

}  // namespace
}  // namespace commtune
