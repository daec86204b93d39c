#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/process.hpp"

namespace commtune {

/// Runs the program that was built, under this test's launcher-free environment.
ProcessResult commtune_program(std::vector<std::string> arguments);

/// Runs it as `mpirun -n RANKS commtune ARGUMENTS`, parts joined by ":".
struct MpiPart {
  int ranks;
  std::vector<std::string> arguments;
};
ProcessResult under_mpirun(const std::vector<MpiPart>& parts);
/// Why the two tests above cannot use MPI; empty when they can.
std::string mpi_missing();

/// A folder of this test that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace commtune
