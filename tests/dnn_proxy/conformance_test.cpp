#include "dnn_proxy/importers/importer.hpp"
#include "dnn_proxy/replay.hpp"
#include "support.hpp"

namespace commtune {
namespace {

using test::error_of;
using test::expect_contains;
using test::resnet50_step;
using test::steps_of;

/// The reference traces; a test without them is skipped.
class ReferenceTraces : public testing::Test {
 protected:
  void SetUp() override {
    traces_ = test::traces_folder();
    if (traces_.empty())
      GTEST_SKIP() << "no reference traces: set COMMTUNE_SHARED to a folder that holds traces/";
  }
  Import import(const std::string& file) const { return import_trace(traces_ / file); }

  std::filesystem::path traces_;
};

std::uint64_t total_bytes_of(const Import& import) {
  std::uint64_t bytes = 0;
  for (const ConservationRow& row : import.conservation.rows) bytes += row.out.bytes;
  return bytes;
}

TEST_F(ReferenceTraces, resnet50_on_two_a100_gives_the_known_sequence_in_every_step) {
  const Import import = this->import("kineto/resnet50_ddp_2xA100_rank0.json.gz");
  EXPECT_EQ(steps_of(import.workload.programs[0]),
            (std::vector<std::vector<std::string>>(3, resnet50_step())));
  EXPECT_EQ(total_bytes_of(import), 307'323'096U);
  EXPECT_EQ(import.workload.world, 2);
  EXPECT_EQ(import.workload.exactness.compute_from, "gpu_busy");
}

TEST_F(ReferenceTraces, resnet50_on_one_v100_gives_the_known_sequence_in_every_step) {
  const Import import = this->import("kineto/resnet50_ddp_1xV100_rank0.json.gz");
  EXPECT_EQ(steps_of(import.workload.programs[0]),
            (std::vector<std::vector<std::string>>(5, resnet50_step())));
  EXPECT_EQ(total_bytes_of(import), 512'205'160U);
}

TEST_F(ReferenceTraces, dlrm_without_arguments_keeps_its_all_to_alls) {
  const Import import = this->import("kineto/dlrm_8xA100_rank3.json.gz");
  EXPECT_EQ(total_bytes_of(import), 5'065'412'632U);
  EXPECT_EQ(import.workload.ranks, std::vector<Rank>{3});
  const std::string message = error_of([&] { check_replayable(import.workload, 8); });
  expect_contains(message, "all_to_all (42 operations");
}

TEST_F(ReferenceTraces, gloo_on_the_cpu_takes_sizes_from_annotations) {
  const Import import = this->import("kineto/gloo_300ranks_rank34.json.gz");
  EXPECT_EQ(import.workload.world, 300);
  ASSERT_EQ(import.conservation.rows.size(), 1U);
  EXPECT_EQ(import.conservation.rows[0].out.operations, 10U);
  EXPECT_EQ(import.conservation.rows[0].out.bytes, 48'073'640U);
}

TEST_F(ReferenceTraces, a_trace_in_the_old_style_is_read) {
  const Import import = this->import("kineto/tiny_dlrm.json.gz");
  EXPECT_EQ(total_bytes_of(import), 35'456'584U);
  EXPECT_EQ(import.workload.ranks, std::vector<Rank>{1});
}

TEST_F(ReferenceTraces, a_profile_without_sizes_is_refused_by_name) {
  expect_contains(error_of([&] { import("captured-ddp/resnet50.pt.rank0.json.gz"); }),
                  "\"gloo:all_reduce\" (20 operations");
}

TEST_F(ReferenceTraces, the_captured_run_gives_the_known_sequence_and_one_bucket_at_first) {
  const Import import = this->import("captured-ddp/resnet50.hook.rank0.json.gz");
  ASSERT_EQ(import.workload.programs.size(), 2U);
  for (const auto& program : import.workload.programs) {
    auto steps = steps_of(program);
    ASSERT_EQ(steps.size(), 11U);
    EXPECT_EQ(steps[0], (std::vector<std::string>{"broadcast 53,120 float32", "broadcast 53 int64",
                                                  "allreduce 25,557,032 float32"}));
    steps.erase(steps.begin());
    EXPECT_EQ(steps, (std::vector<std::vector<std::string>>(10, resnet50_step())));
  }
  EXPECT_EQ(import.workload.exactness.compute_from, "no_sync_scaled");
}

TEST_F(ReferenceTraces, a_folder_of_several_captured_runs_asks_for_one) {
  const std::string message = error_of([&] { import("captured-ddp"); });
  expect_contains(message, "resnet18.hook.rank0.json.gz");
  expect_contains(message, "resnet50.hook.rank0.json.gz");
}

TEST_F(ReferenceTraces, a_captured_run_needs_the_files_of_all_ranks) {
  const test::TemporaryFolder folder;
  const auto from = traces_ / "captured-ddp";
  std::filesystem::copy(from / "resnet18.hook.rank0.json.gz", folder.path());
  expect_contains(error_of([&] { import_trace(folder.path()); }), "resnet18.hook.rank1.json.gz");
  std::filesystem::copy(from / "resnet18.hook.rank1.json.gz", folder.path());
  const Import import = import_trace(folder.path());
  EXPECT_EQ(steps_of(import.workload.programs[1])[1],
            (std::vector<std::string>{"allreduce 513,000 float32", "allreduce 7,213,056 float32",
                                      "allreduce 3,963,456 float32"}));
  expect_contains(format_workload(import.workload), "absent: no commevents file");
}

TEST(SampleWorkload, is_one_steady_step_of_both_ranks) {
  const std::filesystem::path file =
      std::filesystem::path(COMMTUNE_SAMPLES) / "resnet50_ddp_2ranks.workload.jsonl";
  const Workload sample = load_workload(file.string());
  EXPECT_LT(std::filesystem::file_size(file), 100'000U);
  ASSERT_EQ(sample.programs.size(), 2U);
  for (const auto& program : sample.programs)
    EXPECT_EQ(steps_of(program), (std::vector<std::vector<std::string>>{resnet50_step()}));
  check_replayable(sample, 2);
}

}  // namespace
}  // namespace commtune
