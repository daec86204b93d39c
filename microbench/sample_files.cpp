#include "microbench/sample_files.hpp"

#include <span>

#include "core/error.hpp"
#include "harness/report_format.hpp"

namespace commtune {
namespace {

/// When each iteration began, and how long after that the last rank entered and left.
void describe_iterations(Json& line, const std::vector<Iteration>& iterations) {
  if (iterations.empty()) return;
  const std::int64_t zero = iterations.front().first_in_ns;
  const auto list = [&](const char* key, auto value) {
    Json& values = line[key] = Json::array();
    for (const Iteration& each : iterations) values.push_back(value(each));
  };
  list("first_in_ns", [zero](const Iteration& i) { return i.first_in_ns - zero; });
  list("last_in_ns", [](const Iteration& i) { return i.last_in_ns - i.first_in_ns; });
  list("last_out_ns", [](const Iteration& i) { return i.last_out_ns - i.first_in_ns; });
  list("last_in_rank", [](const Iteration& i) { return i.last_in_rank; });
  list("last_out_rank", [](const Iteration& i) { return i.last_out_rank; });
}

Json sample_line(const Row& row, const Series& series) {
  Json line = Json::object();
  line["test"] = row.test;
  line["transport"] = row.transport;
  line["library"] = row.library;
  line["ranks"] = row.ranks;
  line["nodes"] = row.nodes;
  line["ppn"] = row.ppn;
  line["algorithm"] = {{"asked", row.algorithm_asked}, {"used", row.algorithm_used}};
  line["params"] = row.params;
  line["bytes_per_rank"] = row.bytes_per_rank;
  line["dtype"] = row.dtype;
  line["op"] = row.op;
  line["root"] = row.root ? Json(*row.root) : Json(nullptr);
  line["in_place"] = row.in_place;
  line["buffers"] = row.buffers;
  line["samples_us"] = series.samples_us;
  describe_iterations(line, series.iterations);
  return line;
}

std::string bar_name(const Row& row) {
  return fmt::format("{}/{}/{}", row.test, shown_algorithm(row), row.bytes_per_rank);
}

std::vector<TimelineEvent> bars(std::span<const Stamp> stamps, const Row& row) {
  const std::string name = bar_name(row), algorithm = shown_algorithm(row);
  std::vector<TimelineEvent> events;
  for (const Stamp& stamp : stamps) {
    events.push_back({name, "sample", 0, stamp.in_ns, stamp.out_ns, row.bytes_per_rank, algorithm,
                      events.size()});
  }
  return events;
}

}  // namespace

SampleFile::SampleFile(const std::filesystem::path& path)
    : path_(path), out_(path, std::ios::trunc) {
  if (!out_) fail(Errc::system, "--samples {}: cannot be written", path_.string());
}

void SampleFile::add(const Row& row, const Series& series) {
  if (series.samples_us.empty()) return;
  out_ << sample_line(row, series).dump() << '\n' << std::flush;
  if (!out_) fail(Errc::system, "--samples {}: cannot be written", path_.string());
}

IterationTimeline::IterationTimeline(Job& job, const std::filesystem::path& path) : job_(job) {
  if (job.rank() != 0) return;
  TimelineWriter::create(path);
  writer_ = std::make_unique<TimelineWriter>(path, 0, job.transport.now_ns(),
                                             std::vector<std::string>{"calls"});
  for (Rank rank = 1; rank < job.size(); ++rank) writer_->add_rank(rank);
  writer_->note(fmt::format("at most the first {} iterations of a row", Series::stamp_limit));
}

void IterationTimeline::add(const Row& row, const Series& series) {
  const std::size_t length = series.stamps.size();
  if (length == 0) return;
  std::vector<Stamp> all(writer_ ? length * static_cast<std::size_t>(job_.size()) : 0);
  job_.bootstrap.gather(std::as_bytes(std::span(series.stamps)),
                        std::as_writable_bytes(std::span(all)));
  if (!writer_) return;
  for (Rank rank = 0; rank < job_.size(); ++rank) {
    const std::span<const Stamp> its(all.data() + static_cast<std::size_t>(rank) * length, length);
    writer_->append(rank, bars(its, row));
  }
  if (length == series.samples_us.size()) return;
  writer_->note(fmt::format("{}: the first {} of {} iterations", bar_name(row), length,
                            series.samples_us.size()));
}

void IterationTimeline::close() {
  if (writer_) writer_->close_array();
}

}  // namespace commtune
