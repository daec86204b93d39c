// MSCCL XML: reading a program, proving it, writing it again.
#include "collectives/exchange/export_formats.hpp"
#include "collectives/exchange/import.hpp"
#include "fuzz.hpp"

namespace {

using namespace commtune;

void write_and_read(const std::vector<Schedule>& schedules, const ImportedSchedule& from,
                    bool in_place) {
  std::string text;
  if (schedules.empty() ||
      !fuzz::accepts([&] { text = to_msccl(schedules, from.collective, in_place, from.name); }))
    return;
  const ImportedSchedule again = import_msccl(text, "written");
  fuzz::expect(again.ranks == from.ranks && again.collective == from.collective,
               "what is written reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::accepts([&] {
    const ImportedSchedule schedule = import_msccl(fuzz::text_of(data, size), "f");
    const auto algorithm = make_algorithm(schedule);
    fuzz::expect(algorithm->refuse({0, schedule.ranks + 1, 0, false}, {}) != "",
                 "it serves one number of ranks");
    fuzz::expect(fuzz::accepts([&] {
                   write_and_read(schedule.out_of_place, schedule, false);
                   write_and_read(schedule.in_place, schedule, true);
                 }),
                 "what is written can be read");
  });
  return 0;
}
