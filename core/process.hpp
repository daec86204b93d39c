#pragma once
#include <string>
#include <utility>
#include <vector>

namespace commtune {

struct ProcessOptions {
  std::vector<std::string> argv;                             ///< argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> set_env;  ///< added to this environment
  std::vector<std::string> unset_env;
  double timeout_s = 0;  ///< 0: none. At the limit the whole process group gets SIGKILL
  bool capture = true;   ///< collect stdout and stderr; false: inherit both
};

struct ProcessResult {
  int status = 0;  ///< exit status, or 128 + signal
  bool timed_out = false;
  std::string out, err;
};

/// Runs a child in its own process group and waits for it. What it left running in the group is
/// killed when it ends; the whole group dies with this process, even by SIGKILL. stdin is
/// /dev/null. Throws Error(unavailable), naming the program, when it does not exist or cannot be
/// run.
ProcessResult run_process(const ProcessOptions&);

/// Absolute path of `program` in PATH, or empty.
std::string find_program(const std::string& program);

/// Absolute path of the running executable.
std::string self_path();

}  // namespace commtune
