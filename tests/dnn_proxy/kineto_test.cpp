#include "dnn_proxy/importers/importer.hpp"
#include "support.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;
using test::TemporaryFolder;

std::string event(const std::string& category, const std::string& name, const std::string& thread,
                  const std::string& ts, const std::string& duration, const std::string& args) {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
      category, name, thread, ts, duration, args);
}
std::string comms(const std::string& name, const std::string& ts, const std::string& count,
                  const std::string& extra = "", const std::string& dtype = "Float") {
  return event("cpu_op", "record_param_comms", "1", ts, "2",
               fmt::format(R"("Collective name":"{}","In msg nelems":{},"Out msg nelems":{},)"
                           R"("dtype":"{}","Group size":2,"Process Group Name":"0",)"
                           R"("Process Group Ranks":"[0, 1]"{})",
                           name, count, count, dtype, extra));
}
std::string trace(const std::vector<std::string>& events,
                  const std::string& distributed = R"({"rank":0,"world_size":2})") {
  std::string text = R"({"schemaVersion":1,"traceEvents":[)";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ",\n" : "\n") + events[i];
  return text + "\n],\"distributedInfo\":" + distributed + "}";
}
Import import_text(const std::string& text) {
  const TemporaryFolder folder;
  return import_trace(folder.write("t.json", text));
}
std::string refusal(const std::string& text) {
  return error_of([&] { import_text(text); });
}
std::vector<std::string> moves(const Import& import) {
  std::vector<std::string> text;
  for (const WorkloadOp& op : import.workload.programs.at(0))
    if (op.op == WorkloadOpKind::collective || op.op == WorkloadOpKind::p2p)
      text.push_back(describe(op));
  return text;
}

TEST(Kineto, reads_records_with_arguments) {
  const Import import = import_text(
      trace({comms("allreduce", "10", "100"), comms("broadcast", "20", "\"53\"", "", "Long"),
             comms("wait", "30", "0", "", "Byte")}));
  EXPECT_EQ(moves(import),
            (std::vector<std::string>{"allreduce 100 float32", "broadcast 53 int64"}));
  EXPECT_EQ(import.workload.world, 2);
  EXPECT_EQ(import.workload.exactness.sizes_from, "record_param_comms");
  EXPECT_EQ(import.conservation.rows.size(), 2U);
}

TEST(Kineto, reads_sizes_from_annotations_of_older_traces) {
  const Import import =
      import_text(trace({event("cpu_op", "record_param_comms", "1", "9", "5", ""),
                         event("user_annotation", "nccl:all_reduce", "1", "10", "2",
                               R"("Input Dims":[[4,8]],"Input type":["float"])"),
                         event("user_annotation", "gloo:broadcast", "1", "20", "2",
                               R"("Input Dims":[[3]],"Input type":["long int"])"),
                         event("gpu_user_annotation", "nccl:all_reduce", "1", "11", "2", "")}));
  EXPECT_EQ(moves(import), (std::vector<std::string>{"allreduce 32 float32", "broadcast 3 int64"}));
  EXPECT_EQ(import.workload.exactness.sizes_from, "annotations");
}

TEST(Kineto, reads_the_bare_array_of_older_profilers) {
  const Import import = import_text(
      R"([{"name":"ProfilerStep#4","ph":"X","ts":0,"dur":100,"tid":1,"pid":"CPU functions","args":{}},)"
      R"({"name":"aten::mm","ph":"X","ts":10,"dur":20,"tid":1,"pid":"CPU functions","args":{}},)"
      R"({"name":"gloo:all_reduce","ph":"X","ts":40,"dur":5,"tid":2,"pid":"CPU functions",)"
      R"("args":{"Input Dims":[[7]],"Input type":["float"]}}])");
  EXPECT_EQ(test::steps_of(import.workload.programs[0]),
            (std::vector<std::vector<std::string>>{{"allreduce 7 float32"}}));
}

TEST(Kineto, reads_distributed_info_that_is_a_json_text) {
  const Import import =
      import_text(trace({comms("allreduce", "1", "4")}, R"("{\"rank\": 1, \"world_size\": 2}")"));
  EXPECT_EQ(import.workload.ranks, std::vector<Rank>{1});
}

TEST(Kineto, accepts_sizes_as_integer_float_or_text_and_refuses_the_rest) {
  for (const char* count : {"64", "64.0", "\"64\""})
    EXPECT_EQ(moves(import_text(trace({comms("allreduce", "1", count)}))),
              std::vector<std::string>{"allreduce 64 float32"});
  for (const char* count : {"64.5", "\"many\"", "[64]", "true"})
    expect_contains(refusal(trace({comms("allreduce", "1", count)})), "In msg nelems");
}

TEST(Kineto, names_an_unknown_collective_with_count_and_bytes) {
  const std::string message =
      refusal(trace({comms("allreduce", "1", "4"), comms("allshuffle", "2", "1000"),
                     comms("allshuffle", "3", "1000")}));
  expect_contains(message, "\"allshuffle\" (2 operations, 8,000 bytes)");
}

TEST(Kineto, names_operations_without_sizes_or_with_unknown_types) {
  expect_contains(refusal(trace({event("user_annotation", "gloo:all_reduce", "1", "1", "1", "")})),
                  "\"gloo:all_reduce\"");
  expect_contains(refusal(trace({comms("allreduce", "1", "4", "", "ComplexFloat")})),
                  "ComplexFloat");
  expect_contains(refusal(trace({comms("allreduce", "1", "4", "", "Float8_e5m2")})), "Float8_e5m2");
}

TEST(Kineto, keeps_collectives_that_this_build_cannot_run) {
  const Import import = import_text(trace(
      {comms("all_to_allv", "1", "10", R"(,"In split size":"[3, 7]","Out split size":"[4, 6]")"),
       comms("reduce", "2", "5")}));
  const auto& program = import.workload.programs[0];
  EXPECT_EQ(moves(import), (std::vector<std::string>{"all_to_all 10 float32", "reduce 5 float32"}));
  EXPECT_EQ(program[0].send_splits, (std::vector<std::uint64_t>{3, 7}));
  EXPECT_EQ(program[0].recv_splits, (std::vector<std::uint64_t>{4, 6}));
}

TEST(Kineto, takes_any_group_name_but_an_empty_one) {
  for (const char* name : {"default_pg", "mesh_tp", "0x1f"}) {
    const Import import = import_text(
        trace({comms("allreduce", "1", "4", fmt::format(R"(,"Process Group Name":"{}")", name))}));
    EXPECT_EQ(import.workload.groups.at(0).name, name);
  }
  expect_contains(refusal(trace({comms("allreduce", "1", "4", R"(,"Process Group Name":"")")})),
                  "event 0");
}

TEST(Kineto, rebuilds_a_list_of_ranks_that_was_cut) {
  const Import import = import_text(trace(
      {comms("allreduce", "1", "4",
             R"(,"Process Group Name":"dp","Group size":4,"Process Group Ranks":"[0, 2, ...]")")},
      R"({"rank":0,"world_size":8})"));
  EXPECT_EQ(import.workload.groups.at(0).ranks, (std::vector<Rank>{0, 2, 4, 6}));
}

TEST(Kineto, says_where_gzip_data_is_cut_off) {
  const TemporaryFolder folder;
  std::vector<std::string> events;
  for (int i = 0; i < 2000; ++i)
    events.push_back(comms("allreduce", std::to_string(i * 37 % 1001 + i), std::to_string(i * i)));
  const std::string whole = test::read_text(folder.write_gzip("t.json.gz", trace(events)));
  const std::string half = whole.substr(0, whole.size() / 2);
  const auto file = folder.write("half.json.gz", half);
  const std::string message = error_of([&] { import_trace(file); });
  expect_contains(message, fmt::format("byte {}", half.size()));
  expect_contains(message, "cut off");
}

TEST(Kineto, says_where_gzip_data_is_damaged) {
  const TemporaryFolder folder;
  std::string text =
      test::read_text(folder.write_gzip("t.json.gz", trace({comms("allreduce", "1", "4")})));
  text[text.size() - 6] = static_cast<char>(text[text.size() - 6] ^ 0x55);  // in the checksum
  const auto file = folder.write("bad.json.gz", text);
  const std::string message = error_of([&] { import_trace(file); });
  expect_contains(message, "damaged gzip data");
  expect_contains(message, "byte ");
}

TEST(Kineto, says_where_json_is_damaged) {
  std::string text = trace({comms("allreduce", "1", "4"), comms("allreduce", "2", "4")});
  const auto at = text.find("},\n{") + 2;
  text[at] = '}';
  const std::string message = refusal(text);
  expect_contains(message, fmt::format("byte {}:", at + 1));
  const std::string cut = trace({comms("allreduce", "1", "4")}).substr(0, 100);
  expect_contains(refusal(cut), fmt::format("byte {}:", cut.size() + 1));
}

TEST(Kineto, keeps_events_and_steps_of_no_length_in_order) {
  const Import import = import_text(
      trace({event("user_annotation", "ProfilerStep#1", "1", "5", "0", ""),
             event("cpu_op", "aten::mm", "1", "5", "0", ""), comms("allreduce", "5", "4")}));
  EXPECT_EQ(test::steps_of(import.workload.programs[0]),
            (std::vector<std::vector<std::string>>{{"allreduce 4 float32"}}));
}

TEST(Kineto, separates_busy_time_from_gaps) {
  const Import import = import_text(trace({event("cpu_op", "aten::mm", "1", "0", "1000", ""),
                                           event("cpu_op", "aten::mm", "1", "5000", "1000", "")}));
  std::int64_t busy = 0, gap = 0;
  for (const WorkloadOp& op : import.workload.programs[0]) {
    busy += op.duration_ns;
    gap += op.gap_ns;
  }
  EXPECT_EQ(busy, 2'000'000);
  EXPECT_EQ(gap, 4'000'000);
}

TEST(Kineto, assigns_device_work_by_the_thread_that_launched_it) {
  const auto kernel = [](const char* name, int correlation, const char* ts, const char* duration,
                         int stream) {
    return event("kernel", name, "7", ts, duration,
                 fmt::format(R"("correlation":{},"device":0,"stream":{})", correlation, stream));
  };
  const auto launch = [](const char* thread, int correlation, const char* ts) {
    return event("cuda_runtime", "cudaLaunchKernel", thread, ts, "1",
                 fmt::format(R"("correlation":{})", correlation));
  };
  // The other thread's kernel ends later but does not delay the operation.
  const Import import = import_text(
      trace({launch("1", 1, "0"), kernel("gemm", 1, "100", "50", 7), launch("2", 2, "1"),
             kernel("gemm", 2, "120", "200", 8), comms("allreduce", "10", "4"),
             event("cuda_sync", "Stream Wait Event", "7", "0", "900", R"("correlation":9)"),
             launch("1", 3, "11"), kernel("ncclDevKernel_AllReduce", 3, "160", "300", 40)}));
  const auto& program = import.workload.programs[0];
  ASSERT_EQ(program.size(), 3U);
  EXPECT_EQ(program[0].duration_ns, 50'000);
  EXPECT_EQ(program[0].gap_ns, 0);
  EXPECT_EQ(describe(program[1]), "allreduce 4 float32");
  EXPECT_EQ(program[2].duration_ns, 170'000);
}

TEST(Kineto, refuses_communication_that_overlaps_on_one_stream) {
  const auto kernel = [](const char* ts) {
    return event("kernel", "ncclKernel_AllReduce", "7", ts, "100",
                 R"("correlation":1,"device":0,"stream":40)");
  };
  expect_contains(refusal(trace({comms("allreduce", "1", "4"), kernel("10"), kernel("50")})),
                  "events 1 and 2 overlap");
}

TEST(Kineto, treats_gradient_buckets_as_asynchronous_and_the_rest_without_a_flag_as_synchronous) {
  const Import import = import_text(trace(
      {event("user_annotation", "ProfilerStep#1", "1", "0", "100", ""),
       event("user_annotation", "DistributedDataParallel.forward", "1", "1", "20", ""),
       comms("broadcast", "2", "4"), comms("allreduce", "30", "8"), comms("allreduce", "40", "16"),
       event("user_annotation", "Optimizer.step#SGD.step", "1", "60", "10", "")}));
  const auto& program = import.workload.programs[0];
  std::vector<std::string> order;
  for (const WorkloadOp& op : program)
    if (op.op != WorkloadOpKind::compute)
      order.push_back(describe(op) + (op.async_id ? fmt::format(" #{}", *op.async_id) : ""));
  EXPECT_EQ(order, (std::vector<std::string>{"step_begin", "forward", "broadcast 4 float32",
                                             "allreduce 8 float32 #0", "allreduce 16 float32 #1",
                                             "wait #0", "wait #1", "optimizer", "step_end"}));
}

TEST(Kineto, matches_waits_with_flagged_operations) {
  const Import import =
      import_text(trace({comms("allreduce", "1", "8", R"(,"Is asynchronized op":true)"),
                         comms("allreduce", "2", "9", R"(,"Is asynchronized op":false)"),
                         comms("wait", "3", "0", "", "Byte")}));
  std::vector<std::string> order;
  for (const WorkloadOp& op : import.workload.programs[0])
    if (op.op != WorkloadOpKind::compute) order.push_back(describe(op));
  EXPECT_EQ(order,
            (std::vector<std::string>{"allreduce 8 float32", "allreduce 9 float32", "wait"}));
}

TEST(Kineto, refuses_a_trace_that_moves_nothing) {
  expect_contains(refusal(trace({comms("allreduce", "1", "0")})), "nothing to replay");
  expect_contains(refusal(trace({})), "nothing to replay");
}

TEST(Kineto, refuses_times_that_are_none) {
  for (const char* wrong : {"null", "true", "[]", "{}", "[1]"}) {
    expect_contains(refusal(trace({comms("allreduce", wrong, "4")})),
                    "event 0: \"ts\" is not a number of microseconds");
    expect_contains(refusal(trace({event("cpu_op", "aten::mm", "1", "5", wrong, "")})),
                    "event 0: \"dur\" is not a number of microseconds");
  }
}

TEST(Kineto, refuses_times_whose_sums_do_not_fit) {
  for (const auto& [ts, duration] : {std::pair{"9000000000000000", "1"},
                                     {"-9000000000000000", "1"},
                                     {"1", "9000000000000000"}}) {
    expect_contains(refusal(trace({event("cpu_op", "aten::mm", "1", ts, duration, "")})),
                    "is out of range");
  }
}

TEST(Kineto, tells_streams_of_any_numbers_apart) {
  const auto kernel = [](const char* device, const char* stream) {
    return event("kernel", "ncclKernel_AllReduce", "7", "10", "100",
                 fmt::format(R"("correlation":1,"device":{},"stream":{})", device, stream));
  };
  EXPECT_NO_THROW(import_text(
      trace({comms("allreduce", "1", "4"), kernel("9223372036854775807", "9223372036854775807"),
             kernel("-9223372036854775808", "1"), kernel("0", "1e15"), kernel("1", "0"),
             kernel("0", "1000000")})));
  expect_contains(refusal(trace({comms("allreduce", "1", "4"), kernel("0", "1e300")})),
                  "stream: 1e+300 is not a non-negative integer");
}

TEST(Kineto, refuses_values_nested_without_end) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_contains(refusal(trace({event("cpu_op", "aten::mm", deep, "1", "2", "")})),
                  "event 0: nested deeper than 256 levels");
  expect_contains(refusal(trace({}, deep)), "nested deeper than 256 levels");
}

TEST(Kineto, bounds_the_ranks_that_a_short_trace_can_ask_for) {
  std::vector<std::string> events;
  for (int group = 0; group < 3; ++group) {
    events.push_back(event("cpu_op", "record_param_comms", "1", "1", "2",
                           fmt::format(R"("Collective name":"allreduce","In msg nelems":4,)"
                                       R"("dtype":"Float","Process Group Name":"{}")",
                                       group)));
  }
  expect_contains(refusal(trace(events, R"({"rank":0,"world_size":1048576})")),
                  "all process groups together have more than 2097152 ranks");
}

TEST(Kineto, needs_every_rank_of_a_directory) {
  const TemporaryFolder folder;
  const auto rank = [](int r) {
    return trace(
        {comms("allreduce", "1", "4",
               R"(,"Process Group Name":"w","Process Group Ranks":[0,1,2],"Group size":3)")},
        fmt::format(R"({{"rank":{},"world_size":3}})", r));
  };
  folder.write("a.json", rank(0));
  folder.write_gzip("b.json.gz", rank(2));
  expect_contains(error_of([&] { import_trace(folder.path()); }), "no file for rank 1 of 3");
  folder.write("c.json", rank(1));
  EXPECT_EQ(import_trace(folder.path()).workload.ranks, (std::vector<Rank>{0, 1, 2}));
  folder.write("d.json", rank(1));
  expect_contains(error_of([&] { import_trace(folder.path()); }), "both of rank 1");
}

TEST(Import, names_a_missing_or_unrecognised_file) {
  const TemporaryFolder folder;
  expect_contains(error_of([&] { import_trace(folder / "absent.json"); }), "absent.json");
  const auto file = folder.write("x.json", "{\"some\": \"thing\"}");
  const std::string message = error_of([&] { import_trace(file); });
  expect_contains(message, "x.json");
  expect_contains(message, "kineto");
  expect_contains(message, "captured-ddp");
}

}  // namespace
}  // namespace commtune
