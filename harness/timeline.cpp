#include "harness/timeline.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/json.hpp"

namespace commtune {
namespace {

int open_file(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) fail(Errc::system, "--timeline {}: {}", path, std::strerror(errno));
  return file;
}

void write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(Errc::system, "--timeline {}: {}", path, std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string metadata(Rank rank, std::uint32_t thread, std::string_view what,
                     const std::string& label) {
  const Json event = {
      {"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{"name", label}}}};
  return event.dump() + ",\n";
}

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

}  // namespace

void TimelineWriter::create(const std::filesystem::path& path) {
  const int file = open_file(path.string(), O_CREAT | O_TRUNC);
  write_all(file, path.string(), "[\n");
  ::close(file);
}

TimelineWriter::TimelineWriter(const std::filesystem::path& path, Rank rank, std::int64_t zero_ns,
                               std::vector<std::string> threads)
    : path_(path.string()),
      file_(open_file(path_, O_APPEND)),
      rank_(rank),
      zero_ns_(zero_ns),
      threads_(std::move(threads)) {
  add_rank(rank);
}

void TimelineWriter::add_rank(Rank rank) {
  std::string text = metadata(rank, 0, "process_name", fmt::format("rank {}", rank));
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    text += metadata(rank, thread, "thread_name", threads_[thread]);
  }
  write_text(text);
}

TimelineWriter::~TimelineWriter() {
  if (file_ >= 0) ::close(file_);
}

void TimelineWriter::write_text(const std::string& text) { write_all(file_, path_, text); }

void TimelineWriter::append(Rank rank, std::vector<TimelineEvent> events) {
  std::stable_sort(
      events.begin(), events.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
      });
  std::string text;
  for (const TimelineEvent& event : events) {
    const bool sample = event.category == "sample";
    Json args = {{sample ? "sample" : "step", event.number}};
    if (sample || event.category == "communication") {
      args["bytes"] = event.bytes;
      args["algorithm"] = event.algorithm;
    }
    const Json line = {{"name", event.name},
                       {"cat", event.category},
                       {"ph", "X"},
                       {"ts", microseconds(event.begin_ns - zero_ns_)},
                       {"dur", microseconds(event.end_ns - event.begin_ns)},
                       {"pid", rank},
                       {"tid", event.thread},
                       {"args", args}};
    text += line.dump() + ",\n";
  }
  write_text(text);
}

void TimelineWriter::note(const std::string& text) { write_text(metadata(rank_, 0, "note", text)); }

void TimelineWriter::close_array() {
  const Json last = {{"name", "end"}, {"ph", "M"}, {"pid", rank_}, {"tid", 0}};
  write_text(last.dump() + "\n]\n");
}

}  // namespace commtune
