#include "program.hpp"

#include <unistd.h>

#include "core/error.hpp"
#include "core/json.hpp"

namespace commtune {
namespace {

constexpr double limit_s = 120;

}  // namespace

ProcessResult commtune_program(std::vector<std::string> arguments) {
  ProcessOptions options;
  options.argv = {COMMTUNE_PROGRAM};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.timeout_s = limit_s;
  return run_process(options);
}

ProcessResult under_mpirun(const std::vector<MpiPart>& parts) {
  ProcessOptions options;
  options.argv = {"mpirun"};
  for (const MpiPart& part : parts) {
    if (options.argv.size() > 1) options.argv.emplace_back(":");
    options.argv.insert(options.argv.end(), {"-n", std::to_string(part.ranks), COMMTUNE_PROGRAM});
    options.argv.insert(options.argv.end(), part.arguments.begin(), part.arguments.end());
  }
  // Open MPI refuses root and more ranks than cores unless told otherwise.
  options.set_env = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                     {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                     {"OMPI_MCA_rmaps_base_oversubscribe", "1"}};
  options.timeout_s = limit_s;
  return run_process(options);
}

std::string mpi_missing() {
  if (find_program("mpirun").empty()) return "no mpirun in PATH";
  const Json transports =
      parse_json(commtune_program({"list", "transports", "--json"}).out, "list transports");
  for (const Json& transport : transports) {
    if (transport.at("name") != "mpi") continue;
    if (transport.at("available").get<bool>()) return {};
    return transport.at("reason").get<std::string>();
  }
  return "no transport mpi in this build";
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "commtune-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail(Errc::system, "mkdtemp {}", pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace commtune
