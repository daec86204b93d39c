// The runtimes that this build has, side by side, and the program on a machine that has none.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/json.hpp"
#include "harness/record.hpp"
#include "program.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

struct Runtime {
  std::string module, transport, mpi, library;
};
const std::vector<Runtime>& runtimes() {
  static const std::vector<Runtime> all{{"", "shm", "", ""},
                                        {"", "threads", "", ""},
                                        {"openmpi", "mpi", "openmpi", "openmpi"},
                                        {"mpich", "mpi", "mpich", "mpich"},
                                        {"ucx", "ucx", "", "ucx"},
                                        {"grpc", "grpc", "", "grpc"},
                                        {"sim", "sim", "", "simgrid"}};
  return all;
}

TEST(Runtimes, of_one_build_measure_the_same_tests_and_compare) {
  const TemporaryFolder folder;
  std::vector<std::string> compare{"compare", "--json"};
  for (const Runtime& each : runtimes()) {
    if (!each.module.empty() && find_module("transport_" + each.module).empty()) {
      std::printf("not run: %s is not in this build\n", each.module.c_str());
      continue;
    }
    const std::string file = folder.file(each.transport + each.mpi);
    std::vector<std::string> arguments{
        "bench", "latency",  "bandwidth", "allreduce",   "ps",           "-n",
        "2",     "--check",  "3",         "--sizes",     "8,64K",        "--iterations",
        "3",     "--warmup", "1",         "--transport", each.transport, "-o",
        file};
    if (!each.mpi.empty()) arguments.insert(arguments.end(), {"--mpi", each.mpi});
    const ProcessResult run = commtune_program(arguments);
    ASSERT_EQ(run.status, exit_ok) << each.transport << each.mpi << ": " << run.err;
    const ResultDocument result = read_result(file);
    ASSERT_EQ(result.rows.size(), 8U);
    for (const Row& row : result.rows) {
      EXPECT_EQ(row.status, "ok") << row.reason;
      EXPECT_EQ(row.transport, each.transport);
      EXPECT_EQ(row.library, each.library);
      EXPECT_EQ(row.check_wrong, 0U);
    }
    compare.push_back(file);
  }
  const ProcessResult run = commtune_program(compare);
  ASSERT_EQ(run.status, exit_ok) << run.err;
  const Json comparison = parse_json(run.out, "compare");
  EXPECT_EQ(comparison.at("columns").size(), compare.size() - 2);
  ASSERT_EQ(comparison.at("rows").size(), 8U);
  for (const Json& row : comparison.at("rows")) {
    for (const Json& time : row.at("times")) EXPECT_FALSE(time.is_null()) << row.dump();
  }
}

TEST(Runtimes, are_told_apart_in_info_by_file_and_version) {
  const Json info = parse_json(commtune_program({"info", "--json"}).out, "info");
  for (const Runtime& each : runtimes()) {
    if (each.module.empty()) continue;
    const Json& library = info.at("libraries").at(each.module);
    const bool built = !find_module("transport_" + each.module).empty();
    EXPECT_EQ(library.at("version").is_null(), !built) << library.dump();
    EXPECT_NE(library.at("path").get<std::string>(), "") << library.dump();
  }
}

TEST(ProgramAlone, works_and_says_what_is_missing) {
  const TemporaryFolder folder;
  const std::string program = folder.file("commtune");
  std::filesystem::copy_file(COMMTUNE_PROGRAM, program);
  const auto alone = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    ProcessOptions options;
    options.argv = std::move(arguments);
    options.set_env = {{"COMMTUNE_MODULE_PATH", ""}};
    options.timeout_s = 60;
    return run_process(options);
  };
  const ProcessResult info = alone({"info", "--json"});
  ASSERT_EQ(info.status, exit_ok) << info.err;
  const Json said = parse_json(info.out, "info");
  for (const char* transport : {"mpi", "ucx", "grpc", "sim"}) {
    EXPECT_EQ(said.at("transports").at(transport).get<std::string>().rfind("missing: ", 0), 0U);
    const ProcessResult run = alone({"bench", "latency", "--transport", transport});
    EXPECT_EQ(run.status, exit_unavailable) << run.err;
    EXPECT_NE(run.err.find(transport), std::string::npos) << run.err;
  }
  EXPECT_EQ(alone({"bench", "allreduce", "--sizes", "8", "--iterations", "3"}).status, exit_ok);
}

}  // namespace
}  // namespace commtune
