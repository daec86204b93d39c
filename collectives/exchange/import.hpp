#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule/verify.hpp"

namespace commtune {

/// A schedule that came from a file: data, not a generator, so it serves one number of ranks.
struct ImportedSchedule {
  std::string name;     ///< made of letters, digits and "_-."
  std::string summary;  ///< one line: origin and what the file says about it
  Collective collective = Collective::allreduce;
  Rank ranks = 0;
  /// One schedule per rank, proved right; empty where the file does not serve that placement.
  std::vector<Schedule> out_of_place, in_place;
  Facts facts;  ///< of both
};

/// Reads an MSCCL XML file's text, turns it into schedules and proves them. A program made for in
/// place also serves out of place, writing what it would write into its input to the output.
/// `what` starts every error: Error(usage) where the text is malformed, Error(wrong_result) with a
/// counterexample where the program deadlocks, races or computes something else.
ImportedSchedule import_msccl(std::string_view xml, const std::string& what);
/// The same from a file. Throws Error(unavailable) when it cannot be read.
ImportedSchedule import_msccl_file(const std::filesystem::path& file, const std::string& what);

/// An algorithm that gives out the schedule and refuses other numbers of ranks and placements. The
/// result owns everything; ready for add_algorithm().
std::shared_ptr<const Algorithm> make_algorithm(ImportedSchedule);

}  // namespace commtune
