#include <fstream>

#include "core/process.hpp"
#include "tests/exchange/support.hpp"

namespace commtune::test {
namespace {

ProcessResult run(std::vector<std::string> arguments) {
  ProcessOptions options;
  options.argv = {COMMTUNE_PROGRAM};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.timeout_s = 120;
  return run_process(options);
}

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const auto file = folder / name;
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

TEST(PluginOption, adds_the_example_to_list_verify_and_bench) {
  const TemporaryFolder folder;
  const std::string file = (folder / "my_allreduce.so").string();
  const ProcessResult built =
      run_process({.argv = {COMMTUNE_CXX_COMPILER, "-std=c++20", "-O1", "-fPIC", "-shared", "-I",
                            COMMTUNE_SOURCE_FOLDER, COMMTUNE_EXAMPLE, "-o", file},
                   .set_env = {},
                   .unset_env = {}});
  ASSERT_EQ(built.status, 0) << built.err;
  const ProcessResult list = run({"list", "algorithms", "--plugin", file});
  EXPECT_EQ(list.status, 0) << list.err;
  expect_contains(list.out, "allreduce/star");
  const ProcessResult proof = run({"verify", "allreduce/star", "--ranks", "1:9", "--plugin", file});
  EXPECT_EQ(proof.status, 0) << proof.err;
  expect_contains(proof.out, "proved");
  const ProcessResult bench =
      run({"bench", "allreduce", "--algorithm", "star", "--plugin", file, "-n", "3", "--sizes",
           "8,1000", "--iterations", "3", "--format", "csv"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  expect_contains(bench.out, "star");
  const ProcessResult without = run({"verify", "allreduce/star"});
  EXPECT_EQ(without.status, exit_usage);
}

TEST(PluginOption, a_file_that_is_not_there_ends_with_3) {
  const ProcessResult result = run({"bench", "allreduce", "--plugin", "none.so"});
  EXPECT_EQ(result.status, exit_unavailable);
  EXPECT_EQ(result.err, "commtune: --plugin none.so: no such file\n");
}

TEST(ScheduleOption, adds_a_program_that_is_proved_and_runs) {
  const TemporaryFolder folder;
  const std::string file = write(folder, "a.xml", xml_of(exchange_program(true)));
  const ProcessResult proof = run({"verify", "allreduce/test", "--schedule", file});
  EXPECT_EQ(proof.status, 0) << proof.err;
  expect_contains(proof.out, "2 cases");
  for (const char* placement : {"--in-place", "--warmup=1"}) {
    const ProcessResult bench =
        run({"bench", "allreduce", "--schedule", file, "--algorithm", "test", "-n", "2", "--sizes",
             "8,1000", "--iterations", "3", placement});
    EXPECT_EQ(bench.status, 0) << bench.err << bench.out;
  }
}

TEST(ScheduleOption, wrong_programs_end_with_1_and_malformed_ones_with_2) {
  const TemporaryFolder folder;
  ProgramText wrong = exchange_program(false);
  wrong.gpus[1][0].steps[1].type = "r";
  const std::vector<std::string> start{"bench", "allreduce", "--schedule"};
  auto arguments = start;
  arguments.push_back(write(folder, "wrong.xml", xml_of(wrong)));
  const ProcessResult refused = run(arguments);
  EXPECT_EQ(refused.status, exit_measured_failure);
  EXPECT_EQ(refused.out, "");
  expect_contains(refused.err, "wrong_value: rank 1");
  arguments = start;
  arguments.push_back(write(folder, "bad.xml", "<algo name=\"x\"/>"));
  const ProcessResult malformed = run(arguments);
  EXPECT_EQ(malformed.status, exit_usage);
  expect_contains(malformed.err, "algo: the attribute ngpus is missing");
}

TEST(Export, writes_every_format_and_what_it_writes_is_accepted_back) {
  const TemporaryFolder folder;
  for (const char* format : {"text", "graphviz", "goal", "msccl"}) {
    const std::string file = (folder / format).string();
    const ProcessResult result =
        run({"export", "allgather/ring", "--ranks", "3", "--format", format, "-o", file});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(file), 200U);
  }
  const std::string file = (folder / "msccl").string();
  const ProcessResult back = run({"verify", "allgather/ring_3ranks", "--schedule", file});
  EXPECT_EQ(back.status, 0) << back.err;
  expect_contains(back.out, "1 cases");
  const ProcessResult twice = run({"list", "formats", "--schedule", file, "--schedule", file});
  EXPECT_EQ(twice.status, exit_usage);
  expect_contains(twice.err, "there is an algorithm allgather/ring_3ranks already");
  EXPECT_EQ(run({"export", "allgather/ring", "--format", "svg"}).status, exit_usage);
  EXPECT_EQ(run({"export", "ring"}).status, exit_usage);
  const ProcessResult unread = run({"export", "allreduce/ring", "--radix", "3"});
  EXPECT_EQ(unread.status, exit_usage);
  EXPECT_NE(unread.err.find("has no parameter 'radix'"), std::string::npos) << unread.err;
  EXPECT_EQ(run({"export", "allreduce/ring:segments=2", "--segments", "3"}).status, exit_usage);
  EXPECT_EQ(run({"export", "allreduce/ring:segments=2"}).out,
            run({"export", "allreduce/ring", "--segments", "2"}).out);
  EXPECT_EQ(run({"export", "barrier/dissemination", "--format", "msccl"}).status, exit_usage);
}

}  // namespace
}  // namespace commtune::test
