#include <utility>

#include "core/error.hpp"
#include "dnn_proxy/byte_source.hpp"
#include "dnn_proxy/importers/importer.hpp"
#include "dnn_proxy/replay.hpp"

namespace commtune {

Workload load_workload(const std::string& argument) {
  require(
      argument.rfind("model:", 0) != 0,
      "WORKLOAD {}: this build has no model generators; give a commtune.workload/1 file, a trace "
      "file or a directory of traces (`commtune list formats`)",
      argument);
  const std::filesystem::path path(argument);
  require(std::filesystem::exists(path), "WORKLOAD {}: no such file or directory", argument);
  if (!std::filesystem::is_directory(path)) {
    const std::string head = read_head(path, 4096);
    if (head.substr(0, head.find('\n')).find("commtune.workload/") != std::string::npos)
      return read_workload(path);
  }
  return import_trace(path).workload;
}

namespace {

/// Lines with runs of equal ones written once and counted.
class RunLines {
 public:
  void add(const std::string& line) {
    if (line != last_) flush();
    last_ = line;
    ++times_;
  }
  std::string take() {
    flush();
    return std::exchange(text_, {});
  }
  bool empty() const { return times_ == 0 && text_.empty(); }

 private:
  void flush() {
    if (times_ > 0)
      text_ += fmt::format("#   {}{}\n", last_,
                           times_ > 1 ? "  x " + with_thousands(times_) : std::string());
    times_ = 0;
    last_.clear();
  }
  std::string last_, text_;
  std::uint64_t times_ = 0;
};

}  // namespace

std::string describe_steps(const Workload& workload) {
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> kinds;
  RunLines lines;
  std::uint64_t step = 0;
  bool inside = count_steps(workload.programs.front()) == 0;
  const auto finish = [&] {
    const std::string body = lines.take();
    std::size_t at = 0;
    while (at < kinds.size() && kinds[at].first != body) ++at;
    if (at == kinds.size()) kinds.push_back({body, {}});
    kinds[at].second.push_back(step);
  };
  for (const WorkloadOp& op : workload.programs.front()) {
    const bool mark = op.op == WorkloadOpKind::mark;
    if (mark && op.mark == Mark::step_begin) {
      inside = true;
      step = op.step;
    } else if (mark && op.mark == Mark::step_end) {
      finish();
      inside = false;
    } else if (inside && (op.op == WorkloadOpKind::collective || op.op == WorkloadOpKind::p2p)) {
      lines.add(describe(op) + (op.async_id ? ", asynchronous" : ""));
    }
  }
  if (!lines.empty()) finish();
  std::string text;
  for (const auto& [body, steps] : kinds) {
    std::string numbers;
    for (const std::uint64_t number : steps)
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
    text += fmt::format("# step{} {}:\n{}", steps.size() == 1 ? "" : "s", numbers,
                        body.empty() ? "#   no communication\n" : body);
  }
  return text;
}

}  // namespace commtune
