#include "tuning/bench_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include "core/error.hpp"
#include "core/process.hpp"
#include "transports/module.hpp"
#include "tuning/scratch_folder.hpp"

namespace commtune {
namespace {

constexpr std::string_view preload_variable = "LD_PRELOAD";

bool chooses_algorithms(std::string_view variable) {
  const auto starts = [&](std::string_view prefix) {
    return variable.substr(0, prefix.size()) == prefix;
  };
  const bool mpich = starts("MPIR_CVAR_") || starts("MPIR_PARAM_") || starts("MPICH_");
  return starts("OMPI_MCA_coll_tuned_") ||
         (mpich && (variable.find("_ALGORITHM") != std::string_view::npos ||
                    variable.find("SELECTION_TUNING") != std::string_view::npos));
}

std::vector<std::string> earlier_choices() {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::string_view variable = entry.substr(0, entry.find('='));
    if (chooses_algorithms(variable)) variables.emplace_back(variable);
  }
  return variables;
}

/// Open MPI's launcher hands its own variables to remote ranks, others only when told to.
std::string forward_preload(const std::string& launcher) {
  const std::string program =
      std::filesystem::path(launcher.substr(0, launcher.find(' '))).filename();
  const bool open_mpi = program == "mpirun" || program == "mpiexec" || program == "orterun" ||
                        program == "prterun" || program == "mpirun.openmpi" ||
                        program == "mpiexec.openmpi";
  return open_mpi ? fmt::format("{} -x {}", launcher, preload_variable) : launcher;
}

/// A sanitized program refuses libraries that are loaded before the sanitizer's runtime.
void allow_preload([[maybe_unused]] ProcessOptions& process) {
#ifdef __SANITIZE_ADDRESS__
  const char* options = std::getenv("ASAN_OPTIONS");
  process.set_env.emplace_back(
      "ASAN_OPTIONS",
      fmt::format("{}:verify_asan_link_order=0:detect_leaks=0", options != nullptr ? options : ""));
#endif
}

std::string join(const std::vector<std::uint64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, ","));
}

class Runner {
 public:
  explicit Runner(const RunOptions& options)
      : options_(options), folder_(std::make_shared<ScratchFolder>()) {}

  BenchOutcome operator()(const BenchRequest& request) {
    const std::filesystem::path file = folder_->path() / fmt::format("{}.json", ++runs_);
    ProcessOptions process;
    process.set_env = {{"MALLOC_MMAP_MAX_", "0"}, {"MALLOC_TRIM_THRESHOLD_", "17179869184"}};
    process.set_env.insert(process.set_env.end(), request.environment.begin(),
                           request.environment.end());
    process.unset_env = earlier_choices();
    std::string launcher = options_.launcher;
    if (request.trace) {
      const std::filesystem::path tracer = find_module("openmpi_trace");
      if (!tracer.empty()) {
        const std::string library = std::filesystem::absolute(tracer).string();
        const char* existing = std::getenv(preload_variable.data());
        process.set_env.emplace_back(preload_variable,
                                     preload_first(library, existing != nullptr ? existing : ""));
        launcher = preload_first_in_launcher(library, launcher);
        allow_preload(process);
      }
    }
    process.argv = arguments(request, launcher, file);
    process.timeout_s = 60 + options_.timeout_s +
                        static_cast<double>(request.sizes.size()) * (3 * request.time_limit_s + 1);
    const ProcessResult result = run_process(process);
    return collect(result, file, process.timeout_s);
  }

 private:
  std::vector<std::string> arguments(const BenchRequest& request, const std::string& launcher,
                                     const std::filesystem::path& file) const {
    std::vector<std::string> argv{self_path(),
                                  "bench",
                                  std::string(name(request.collective)),
                                  "--algorithm",
                                  request.algorithm,
                                  "--transport",
                                  options_.transport,
                                  "--dtype",
                                  std::string(name(options_.dtype)),
                                  "--op",
                                  std::string(name(options_.op)),
                                  "--check",
                                  fmt::format("{}", std::max<std::uint64_t>(1, options_.check)),
                                  "--time-limit",
                                  fmt::format("{:.6f}", request.time_limit_s),
                                  "--precision",
                                  fmt::format("{:.6f}", options_.sampling.precision),
                                  "--confidence",
                                  fmt::format("{:.6f}", options_.sampling.confidence),
                                  "--timeout",
                                  fmt::format("{:.3f}", options_.timeout_s),
                                  "--seed",
                                  fmt::format("{}", options_.seed),
                                  "--format",
                                  "json",
                                  "-o",
                                  file.string()};
    const auto add = [&argv](const char* option, std::string value) {
      argv.emplace_back(option);
      argv.push_back(std::move(value));
    };
    if (options_.ranks > 0) add("-n", fmt::format("{}", options_.ranks));
    if (request.collective != Collective::barrier) add("--sizes", join(request.sizes));
    if (rooted(request.collective)) add("--root", fmt::format("{}", options_.root));
    if (!launcher.empty()) add("--launcher", launcher);
    if (!options_.mpi.empty()) add("--mpi", options_.mpi);
    if (!options_.platform.empty()) add("--platform", options_.platform);
    if (!options_.bind.empty()) add("--bind", options_.bind);
    if (options_.sampling.iterations) {
      add("--iterations", fmt::format("{}", *options_.sampling.iterations));
    }
    if (options_.sampling.warmup) add("--warmup", fmt::format("{}", *options_.sampling.warmup));
    if (options_.in_place) argv.emplace_back("--in-place");
    if (options_.cold) argv.emplace_back("--cold");
    return argv;
  }

  static std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of(" \n\r");
    if (end == std::string::npos) return "no message";
    const std::size_t begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin));
  }

  static BenchOutcome collect(const ProcessResult& result, const std::filesystem::path& file,
                              double timeout_s) {
    BenchOutcome outcome;
    outcome.status = result.status;
    if (std::filesystem::exists(file)) {
      try {
        ResultDocument document = read_result(file);
        outcome.rows = std::move(document.rows);
        outcome.run = std::move(document.run);
        outcome.reason = std::move(document.reason);
      } catch (const Error& error) {
        outcome.reason = error.what();
        if (outcome.status == 0) outcome.status = exit_measured_failure;
      }
    }
    if (result.timed_out) {
      outcome.reason = fmt::format("hung: stopped after {:.0f} s", timeout_s);
      outcome.status = exit_rank_lost;
    } else if (result.status != 0 && outcome.reason.empty()) {
      outcome.reason = last_line(result.err);
    } else if (result.status == 0) {
      if (outcome.rows.empty()) {
        outcome.status = exit_measured_failure;
        if (outcome.reason.empty()) outcome.reason = "no rows in the result";
      }
    }
    return outcome;
  }

  RunOptions options_;
  std::shared_ptr<ScratchFolder> folder_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::string preload_first(const std::string& library, const std::string& existing) {
  return existing.empty() ? library : library + ":" + existing;
}

std::string preload_first_in_launcher(const std::string& library, const std::string& launcher) {
  constexpr std::string_view before = " \t=;,'\"", after = before;
  std::string text = launcher;
  bool named = false;
  for (std::size_t at = 0; (at = text.find(preload_variable, at)) != std::string::npos;) {
    const bool starts = at == 0 || before.find(text[at - 1]) != std::string_view::npos;
    at += preload_variable.size();
    const bool ends = at == text.size() || after.find(text[at]) != std::string_view::npos;
    if (!starts || !ends) continue;
    named = true;
    if (at < text.size() && text[at] == '=') text.insert(at + 1, library + ":");
  }
  return named ? text : forward_preload(text);
}

BenchRunner process_runner(const RunOptions& options) { return Runner(options); }

const Row* find_row(const BenchOutcome& outcome, std::uint64_t bytes) {
  for (const Row& row : outcome.rows) {
    if (row.bytes_asked == bytes) return &row;
  }
  return nullptr;
}

std::optional<double> machine_state(const Row& row) {
  const auto& c2c = row.machine.c2c_ns;
  if (!c2c[0] || !c2c[1]) return c2c[0] ? c2c[0] : c2c[1];
  return (*c2c[0] + *c2c[1]) / 2;
}

bool comparable(std::optional<double> a, std::optional<double> b, double max_change) {
  if (!a || !b || *a <= 0 || *b <= 0) return true;
  return std::max(*a, *b) <= max_change * std::min(*a, *b);
}

}  // namespace commtune
