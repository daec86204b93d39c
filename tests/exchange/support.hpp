#pragma once
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace commtune::test {

/// The message of the Error that `action` throws; fails the test when there is none.
template <class Action>
std::string error_of(Action action, Errc code) {
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

/// A step without its number: `step("s", "i0", "o0")`, then what it waits for and whether others
/// wait for it.
struct StepText {
  std::string type, src, dst;
  int count = 1;
  int wait_block = -1, wait_step = -1;
  bool signals = false;
};
struct BlockText {
  int send, recv, channel;
  std::vector<StepText> steps;
};
struct ProgramText {
  std::string collective;
  int chunks;
  bool in_place, out_of_place;
  int input_chunks, output_chunks, scratch_chunks;
  std::vector<std::vector<BlockText>> gpus;
};

inline std::string xml_of(const ProgramText& program) {
  std::string text = fmt::format(
      "<algo name=\"test\" proto=\"Simple\" nchannels=\"4\" nchunksperloop=\"{}\" ngpus=\"{}\" "
      "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"0\">\n",
      program.chunks, program.gpus.size(), program.collective, program.in_place ? 1 : 0,
      program.out_of_place ? 1 : 0);
  for (std::size_t g = 0; g < program.gpus.size(); ++g) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", g,
                        program.input_chunks, program.output_chunks, program.scratch_chunks);
    for (std::size_t b = 0; b < program.gpus[g].size(); ++b) {
      const BlockText& block = program.gpus[g][b];
      text += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.send,
                          block.recv, block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const StepText& step = block.steps[s];
        text += fmt::format(
            "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
            "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
            s, step.type, step.src.substr(0, 1), step.src.substr(1), step.dst.substr(0, 1),
            step.dst.substr(1), step.count, step.wait_block, step.wait_step, step.signals ? 1 : 0);
      }
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

/// Allreduce of 2 ranks, 2 chunks: each sends its vector and adds the other's.
inline ProgramText exchange_program(bool in_place) {
  const std::string into = in_place ? "i0" : "o0";
  ProgramText program{"allreduce", 2, in_place, !in_place, 2, in_place ? 0 : 2, 0, {}};
  for (const int peer : {1, 0}) {
    program.gpus.push_back({{peer, peer, 0, {{"s", "i0", "i0", 2}, {"rrc", "i0", into, 2}}}});
  }
  return program;
}

/// Allgather of 3 ranks around a ring, out of place.
inline ProgramText ring_program() {
  ProgramText program{"allgather", 3, false, true, 1, 3, 0, {}};
  for (int r = 0; r < 3; ++r) {
    const auto at = [&](int of) { return fmt::format("o{}", (of + 3) % 3); };
    program.gpus.push_back({{(r + 1) % 3,
                             (r + 2) % 3,
                             0,
                             {{"cpy", "i0", at(r)},
                              {"s", at(r), at(r)},
                              {"rcs", at(r - 1), at(r - 1)},
                              {"r", at(r - 2), at(r - 2)}}}});
  }
  return program;
}

inline std::filesystem::path msccl_folder() {
  const char* variable = std::getenv("COMMTUNE_SHARED");
  const std::filesystem::path shared =
      variable != nullptr && *variable != '\0' ? variable : COMMTUNE_SHARED_DEFAULT;
  return shared / "traces" / "msccl";
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

 private:
  std::filesystem::path path_;
};

}  // namespace commtune::test
