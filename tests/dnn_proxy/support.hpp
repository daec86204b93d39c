#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <zlib.h>

#include "core/error.hpp"
#include "dnn_proxy/workload.hpp"

namespace commtune::test {

/// Reference data, or empty when this machine has none.
inline std::filesystem::path traces_folder() {
  const char* variable = std::getenv("COMMTUNE_SHARED");
  const std::filesystem::path shared =
      variable != nullptr && *variable != '\0' ? variable : COMMTUNE_SHARED_DEFAULT;
  const auto traces = shared / "traces";
  return std::filesystem::is_directory(traces) ? traces : std::filesystem::path();
}

/// A folder of its own for one test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "commtune-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  std::filesystem::path write_gzip(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    gzFile out = gzopen(file.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The message of the Error that `action` throws; fails the test when there is none.
template <class Action>
std::string error_of(Action action, Errc code = Errc::usage) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in:\n" << text;
}

/// Collectives of every step as text, step by step.
inline std::vector<std::vector<std::string>> steps_of(const std::vector<WorkloadOp>& program) {
  std::vector<std::vector<std::string>> steps;
  bool inside = false;
  for (const WorkloadOp& op : program) {
    if (op.op == WorkloadOpKind::mark && op.mark == Mark::step_begin) {
      steps.emplace_back();
      inside = true;
    } else if (op.op == WorkloadOpKind::mark && op.mark == Mark::step_end) {
      inside = false;
    } else if (inside && op.op == WorkloadOpKind::collective) {
      steps.back().push_back(describe(op));
    }
  }
  return steps;
}

inline std::vector<std::string> resnet50_step() {
  return {"broadcast 53,120 float32",    "broadcast 53 int64",
          "allreduce 2,049,000 float32", "allreduce 7,875,584 float32",
          "allreduce 6,563,840 float32", "allreduce 6,637,568 float32",
          "allreduce 2,431,040 float32"};
}

}  // namespace commtune::test
