#include "collectives/exchange/import.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

#include "collectives/exchange/msccl_run.hpp"
#include "collectives/schedule/counterexample.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

constexpr std::string_view placement(bool in_place) {
  return in_place ? "in place" : "out of place";
}

/// Schedules that are proved, with the sends where the program has them if that works.
std::vector<Schedule> proved_schedules(const MscclProgram& program, bool in_place,
                                       const std::string& what, Facts& facts) {
  std::optional<Violation> violation;
  MscclRunResult result;
  for (const SendOrder order : {SendOrder::when_sent, SendOrder::when_received}) {
    result = run_msccl(program, in_place, order, what);
    if (!result.in_order && order == SendOrder::when_sent) continue;
    violation = verify(program.collective, 0, in_place, result.schedules, &facts);
    if (!violation) return std::move(result.schedules);
  }
  const std::string title = fmt::format("{}: {} of {} ranks {}", what, name(program.collective),
                                        program.ranks(), placement(in_place));
  std::string story =
      counterexample(title, program.collective, 0, in_place, result.schedules, *violation) +
      result.strays;
  while (!story.empty() && story.back() == '\n') story.pop_back();
  fail(Errc::wrong_result, "{}", story);
}

/// A name that --algorithm can be given.
std::string plain_name(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '.';
    plain += good ? c : '_';
  }
  return plain;
}

std::string summary_of(const MscclProgram& program) {
  std::string text =
      fmt::format("MSCCL program for {} ranks, {} chunks", program.ranks(), program.chunks);
  if (plain_name(program.name) != program.name) text += fmt::format(", named \"{}\"", program.name);
  if (!program.protocol.empty()) text += fmt::format(", protocol {}", program.protocol);
  if (program.max_bytes != 0 || program.min_bytes != 0) {
    text +=
        fmt::format(", made for {} to {} bytes", program.min_bytes,
                    program.max_bytes == 0 ? "any number of" : std::to_string(program.max_bytes));
  }
  return text;
}

/// An algorithm and what its members refer to.
class ImportedAlgorithm {
 public:
  explicit ImportedAlgorithm(ImportedSchedule schedule)
      : schedule_(std::move(schedule)),
        needs_(needs_of(schedule_)),
        generate_(schedule_),
        refuse_(schedule_),
        algorithm_{.collective = schedule_.collective,
                   .name = schedule_.name,
                   .generate = Generator(generate_),
                   .tunables = "",
                   .summary = schedule_.summary,
                   .cost = "",
                   .needs = needs_,
                   .refuse = Refusal(refuse_)} {}
  ImportedAlgorithm(const ImportedAlgorithm&) = delete;
  ImportedAlgorithm& operator=(const ImportedAlgorithm&) = delete;
  const Algorithm& algorithm() const noexcept { return algorithm_; }

 private:
  struct Generate final : Generator::Object {
    explicit Generate(const ImportedSchedule& schedule) : source(schedule) {}
    Schedule operator()(const Shape& shape, const Params&) const override {
      const auto& all = shape.in_place ? source.in_place : source.out_of_place;
      require(shape.size == source.ranks && !all.empty(),
              "{}/{}: it has no schedule for {} ranks {}", commtune::name(source.collective),
              source.name, shape.size, placement(shape.in_place));
      return all.at(static_cast<std::size_t>(shape.rank));
    }
    const ImportedSchedule& source;
  };
  struct Refuse final : Refusal::Object {
    explicit Refuse(const ImportedSchedule& schedule) : source(schedule) {}
    std::string operator()(const Shape& shape, const Params&) const override {
      if (shape.size != source.ranks) {
        return fmt::format("it was made for {} ranks, not {}", source.ranks, shape.size);
      }
      const bool none = shape.in_place ? source.in_place.empty() : source.out_of_place.empty();
      return none ? fmt::format("it was not made to run {}", placement(shape.in_place)) : "";
    }
    const ImportedSchedule& source;
  };
  static std::string needs_of(const ImportedSchedule& schedule) {
    std::string text = fmt::format("{} ranks", schedule.ranks);
    if (schedule.in_place.empty()) text += ", out of place";
    if (schedule.out_of_place.empty()) text += ", in place";
    return text;
  }

  ImportedSchedule schedule_;
  std::string needs_;
  Generate generate_;
  Refuse refuse_;
  Algorithm algorithm_;
};

}  // namespace

ImportedSchedule import_msccl(std::string_view xml, const std::string& what) {
  const MscclProgram program = parse_msccl(xml, what);
  ImportedSchedule schedule{.name = plain_name(program.name),
                            .summary = summary_of(program),
                            .collective = program.collective,
                            .ranks = program.ranks(),
                            .out_of_place = {},
                            .in_place = {},
                            .facts = {}};
  Facts apart, together;
  schedule.out_of_place = proved_schedules(program, false, what, apart);
  if (program.in_place) schedule.in_place = proved_schedules(program, true, what, together);
  schedule.facts.keeps_order = apart.keeps_order && together.keeps_order;
  return schedule;
}

ImportedSchedule import_msccl_file(const std::filesystem::path& file, const std::string& what) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) {
    fail(Errc::unavailable, "{}: cannot be read: {}", what,
         std::filesystem::is_directory(file) ? "it is a folder" : std::strerror(errno));
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return import_msccl(text, what);
}

std::shared_ptr<const Algorithm> make_algorithm(ImportedSchedule schedule) {
  auto owner = std::make_shared<const ImportedAlgorithm>(std::move(schedule));
  return {owner, &owner->algorithm()};
}

}  // namespace commtune
