#include "core/json.hpp"
#include "dnn_proxy/importers/captured_run.hpp"
#include "support.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;

/// One step with two buckets.
Json hook() {
  return parse_json(R"({"rank":0,"world":1,"model":"m","mode":"hook","steps":[{"step":0,"t0":100,
    "zero":110,"fwd":200,"bwd":300,"opt":350,"ready":[[1,280],[0,290]],
    "buckets":[{"numel":10,"launch":250},{"numel":6,"launch":285}]}],
    "param_names":["bn.weight","bn.bias","fc.weight"],"param_numel":[3,3,10]})",
                    "hook");
}
/// A profiled step of it, with broadcasts of the statistics and counters of one layer.
Json comm_events() {
  return parse_json(R"([{"name":"ProfilerStep*","dur_us":99,"shapes":[]},
    {"name":"gloo:broadcast","dur_us":1,"shapes":[[6]]},
    {"name":"gloo:broadcast","dur_us":1,"shapes":[[1]]},
    {"name":"gloo:all_reduce","dur_us":5,"shapes":[[10]]},
    {"name":"gloo:all_reduce","dur_us":5,"shapes":[[2,3]]},
    {"name":"torch.distributed.ddp.reducer::copy_bucket_to_grad","dur_us":3,"shapes":[]}])",
                    "events");
}

Import import_of(const Json& hook, const Json& events) {
  return import_captured_run({"m", "f", {captured_rank(hook, 0, "hook", &events, "events")}}, "f");
}

/// The refusal when the value at `pointer` of the hook file or the events is another one.
std::string with_hook(const char* pointer, const Json& value) {
  Json changed = hook();
  changed[Json::json_pointer(pointer)] = value;
  return error_of([&] { import_of(changed, comm_events()); });
}
std::string with_events(const char* pointer, const Json& value) {
  Json changed = comm_events();
  changed[Json::json_pointer(pointer)] = value;
  return error_of([&] { import_of(hook(), changed); });
}

TEST(Captured, joins_the_hook_file_and_the_communication_events) {
  const Import import = import_of(hook(), comm_events());
  EXPECT_EQ(
      test::steps_of(import.workload.programs[0]),
      (std::vector<std::vector<std::string>>{{"broadcast 6 float32", "broadcast 1 int64",
                                              "allreduce 10 float32", "allreduce 6 float32"}}));
}

TEST(Captured, refuses_values_of_another_type) {
  expect_contains(with_hook("/param_names/0", 7), "hook: a parameter name must be a string");
  expect_contains(with_events("/1/shapes/0", 6), "events: event 1: a shape must be an array");
}

TEST(Captured, refuses_numbers_whose_sums_do_not_fit) {
  constexpr std::uint64_t most = UINT64_MAX;
  for (const char* time : {"/steps/0/opt", "/steps/0/buckets/0/launch", "/steps/0/ready/0/1"}) {
    expect_contains(with_hook(time, most), "a time of 18446744073709551615 is out of range");
  }
  expect_contains(with_hook("/no_sync_fwd_bwd_ns", {{1U, 2U}, {1U, most}}), "is out of range");
  expect_contains(with_hook("/steps/0/buckets/0/numel", most), "elements are more than");
  expect_contains(with_hook("/param_numel", {most, most, 1}), "elements are more than");
  expect_contains(with_events("/1/shapes/0", {1U << 31, 1U << 31, 1U << 31}),
                  "does not fit in 64 bits");
  expect_contains(with_events("/5/dur_us", std::uint64_t{1} << 61), "copies of");
}

}  // namespace
}  // namespace commtune
