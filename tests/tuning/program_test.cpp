#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tuning/bench_run.hpp"
#include "tuning/scratch_folder.hpp"

namespace commtune {
namespace {

/// The real program, or empty when it is not there.
std::string program() {
  const char* path = std::getenv("COMMTUNE_PROGRAM");
  return path == nullptr ? "" : find_program(path);
}

constexpr const char* empty_table =
    R"({"schema": "commtune.table/1", "run": {}, "entries": [],
        "measured": {"bytes": [0, 0], "ranks": []},
        "budget": {"points": 0, "full_grid": 0, "seconds": 0}, "warnings": []})";

TEST(TableExport, tells_a_target_that_is_not_in_this_build_from_an_unknown_one) {
  if (program().empty()) GTEST_SKIP() << "COMMTUNE_PROGRAM is not set or not there";
  const ScratchFolder folder;
  const std::string table = (folder.path() / "table.json").string();
  std::ofstream(table) << empty_table;
  const auto run = [&](const std::string& target) {
    ProcessOptions options;
    options.argv = {program(), "table", "export", table, "--target", target};
    options.timeout_s = 60;
    return run_process(options);
  };
  for (const char* target : {"openmpi-6", "mpich-4.0", "nccl", "ucc"}) {
    const ProcessResult result = run(target);
    EXPECT_EQ(result.status, exit_unavailable) << target;
    EXPECT_NE(result.err.find("not in this build"), std::string::npos) << result.err;
  }
  const ProcessResult unknown = run("openmpi-7");
  EXPECT_EQ(unknown.status, exit_usage);
  for (const char* name : {"openmpi-4.1", "openmpi-5", "commtune", "openmpi-6", "ucc"}) {
    EXPECT_NE(unknown.err.find(name), std::string::npos) << unknown.err;
  }
  EXPECT_EQ(run("commtune").status, exit_ok);
}

TEST(Preload, puts_a_library_in_front_of_what_is_preloaded_already) {
  EXPECT_EQ(preload_first("/t.so", ""), "/t.so");
  EXPECT_EQ(preload_first("/t.so", "/a.so:/b.so"), "/t.so:/a.so:/b.so");
}

TEST(Preload, extends_the_value_that_a_launcher_sets) {
  const auto in_launcher = [](const std::string& launcher) {
    return preload_first_in_launcher("/t.so", launcher);
  };
  EXPECT_EQ(in_launcher("mpirun -x LD_PRELOAD=/a.so -n 2"),
            "mpirun -x LD_PRELOAD=/t.so:/a.so -n 2");
  EXPECT_EQ(in_launcher("srun --export=ALL,LD_PRELOAD=/a.so"),
            "srun --export=ALL,LD_PRELOAD=/t.so:/a.so");
  EXPECT_EQ(in_launcher("mpirun -x LD_PRELOAD"), "mpirun -x LD_PRELOAD");
  EXPECT_EQ(in_launcher("mpirun -x MY_LD_PRELOAD=/a.so"),
            "mpirun -x MY_LD_PRELOAD=/a.so -x LD_PRELOAD");
  EXPECT_EQ(in_launcher("/opt/bin/mpirun --oversubscribe"),
            "/opt/bin/mpirun --oversubscribe -x LD_PRELOAD");
  EXPECT_EQ(in_launcher("srun -N 2"), "srun -N 2");
  EXPECT_EQ(in_launcher(""), "");
}

/// Ranks of a traced run in which the shim was loaded, by the lines it left.
std::size_t ranks_with_shim(bool through_launcher) {
  const ScratchFolder folder;
  const std::string rules = (folder.path() / "rules.conf").string();
  const std::string mark = (folder.path() / "mark").string();
  std::ofstream(rules) << "1 2 1 0 1\n0 2 0 0\n";
  ProcessOptions options;
  options.argv = {program(), "table",    "prove", "--rules",      rules, "-n",
                  "2",       "--rounds", "1",     "--time-limit", "0.02"};
  options.set_env = {{"PRELOAD_SHIM_MARK", mark}};
  if (through_launcher) {
    options.argv.insert(options.argv.end(),
                        {"--launcher", std::string("mpirun -x LD_PRELOAD=") + PRELOAD_SHIM});
  } else {
    options.set_env.emplace_back("LD_PRELOAD", PRELOAD_SHIM);
  }
  options.timeout_s = 120;
  const ProcessResult result = run_process(options);
  EXPECT_EQ(result.out.find("NOT IN EFFECT"), std::string::npos) << result.out << result.err;
  std::ifstream in(mark);
  const std::string marks(std::istreambuf_iterator<char>(in), {});
  return marks.size();
}

TEST(PreloadLive, the_users_preloaded_library_is_in_the_measured_processes) {
  if (program().empty()) GTEST_SKIP() << "COMMTUNE_PROGRAM is not set or not there";
  if (find_program("mpirun").empty()) GTEST_SKIP() << "no mpirun in PATH";
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitized program refuses libraries that are loaded before the sanitizer";
#endif
  for (const bool through_launcher : {false, true}) {
    const std::size_t ranks = ranks_with_shim(through_launcher);
    EXPECT_GE(ranks, 4U) << (through_launcher ? "launcher" : "environment");
    EXPECT_EQ(ranks % 2, 0U);
  }
}

}  // namespace
}  // namespace commtune
