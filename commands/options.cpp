#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "commands/command.hpp"
#include "commands/limits.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"
#include "core/types.hpp"
#include "microbench/choice.hpp"
#include "transports/binding.hpp"
#include "transports/job.hpp"
#include "transports/mpi_choice.hpp"

namespace commtune {
namespace {

constexpr std::array<std::string_view, 4> output_formats{"table", "osu", "csv", "json"};
/// Named by the interface, served by modules that other builds have.
constexpr std::array<std::string_view, 1> other_transports{"nccl"};
constexpr std::uint64_t most_ranks = 1U << 20;

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A plain decimal number such as "60" or "0.02"; signs, exponents, nan and inf are refused.
double parse_decimal(const std::string& text, std::string_view option) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
                     std::count(text.begin(), text.end(), '.') <= 1 && text != ".";
  require(plain && text.size() <= 32, "{} '{}': expected a decimal number such as 60 or 0.02",
          option, text);
  return std::strtod(text.c_str(), nullptr);
}

double parse_positive(const std::string& text, std::string_view option) {
  const double value = parse_decimal(text, option);
  require(value > 0, "{} '{}': must be greater than 0", option, text);
  return value;
}

double parse_share(const std::string& text, std::string_view option) {
  const double value = parse_decimal(text, option);
  require(value > 0 && value < 1, "{} '{}': must lie between 0 and 1", option, text);
  return value;
}

std::uint64_t parse_at_least_one(const std::string& text, std::string_view option) {
  const std::uint64_t value = parse_count(text, option);
  require(value >= 1, "{} '{}': must be at least 1", option, text);
  return value;
}

int parse_ranks(const std::string& text) {
  const std::uint64_t value = parse_at_least_one(text, "-n/--ranks");
  require(value <= most_ranks, "-n/--ranks '{}': at most {}", text, most_ranks);
  return static_cast<int>(value);
}

std::vector<std::string> parse_algorithms(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    require_algorithm_name(names.back(), "--algorithm");
    begin = end + 1;
  }
  return names;
}

std::string parse_transport(const std::string& text) {
  std::string names;
  for (const TransportInfo& transport : transports()) {
    if (transport.name == text) return text;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", transport.name);
  }
  if (contains(other_transports, text)) {
    fail(Errc::unavailable, "--transport {}: not in this build; it has {}", text, names);
  }
  fail(Errc::usage, "--transport '{}': unknown transport; valid: {}", text, names);
}

std::string parse_device(const std::string& text) {
  if (text == "cuda") fail(Errc::unavailable, "--device cuda: not in this build; it has host");
  require(text == "host", "--device '{}': unknown device; valid: host, cuda", text);
  return text;
}

std::string parse_format(const std::string& text) {
  require(contains(output_formats, text), "--format '{}': unknown format; valid: {}", text,
          fmt::join(output_formats, ", "));
  return text;
}

std::string parse_mpi(const std::string& text) {
  require(text == "openmpi" || text == "mpich" || text.find('/') != std::string::npos,
          "--mpi '{}': unknown MPI; valid: openmpi, mpich, or the path of an installation or its "
          "library",
          text);
  return text;
}

void parse_root(const std::string& text, RunOptions& options) {
  options.rotate_root = text == "rotate";
  if (options.rotate_root) return;
  const std::uint64_t root = parse_count(text, "--root");
  require(root < most_ranks, "--root '{}': at most {}", text, most_ranks - 1);
  options.root = static_cast<Rank>(root);
}

std::vector<BufferKind> parse_buffers(const std::string& text) {
  std::vector<BufferKind> kinds;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    require(word == "registered" || word == "private",
            "--buffers '{}': unknown kind; valid: registered, private, registered,private", word);
    const BufferKind kind = word == "private" ? BufferKind::private_memory : BufferKind::registered;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    begin = end + 1;
  }
  return kinds;
}

std::string parse_path(const std::string& text, std::string_view option) {
  require(!text.empty(), "{}: an empty file name", option);
  return text;
}

template <class Parse>
void add_value(CLI::App& app, const std::string& names, const std::string& type,
               const std::string& help, Parse parse) {
  app.add_option_function<std::string>(
         names, [parse](const std::string& text) { parse(text); }, help)
      ->type_name(type);
}

void add_job_options(CLI::App& app, RunOptions& o) {
  add_value(app, "-n,--ranks", "N", "ranks to start when not under a launcher [2]",
            [&o](const std::string& text) { o.ranks = parse_ranks(text); });
  add_value(app, "--launcher", "CMD", "launcher and its options [the found MPI's mpirun]",
            [&o](const std::string& text) { o.launcher = text; });
  add_value(app, "--transport", "NAME",
            "shm, threads, mpi, ... [mpi under an MPI launcher, else shm]",
            [&o](const std::string& text) { o.transport = parse_transport(text); });
  add_value(app, "--mpi", "NAME", "openmpi, mpich or the path of an installation [the launcher's]",
            [&o](const std::string& text) { o.mpi = parse_mpi(text); });
  add_value(app, "--platform", "FILE",
            "sim: SimGrid file, or KIND:SHAPE,BANDWIDTH,LATENCY; docs/simulation.md",
            [&o](const std::string& text) { o.platform = parse_path(text, "--platform"); });
  add_value(app, "--bind", "WHERE",
            "core, numa, none, or processors as 0,2,4-6 [one each while there are enough]",
            [&o](const std::string& text) {
              parse_binding(text);
              o.bind = text;
            });
  add_value(app, "--device", "NAME", "where buffers live: host, cuda [host]",
            [&o](const std::string& text) { o.device = parse_device(text); });
  add_value(app, "--timeout", "S", "no progress for S seconds ends the job [60]",
            [&o](const std::string& text) { o.timeout_s = parse_positive(text, "--timeout"); });
}

void add_call_options(CLI::App& app, RunOptions& o) {
  add_value(app, "--algorithm", "A[,B...]",
            "implementations to run: names, all, native, auto [auto, built-in table]",
            [&o](const std::string& text) { o.algorithms = parse_algorithms(text); });
  add_value(app, "--table", "FILE", "decision table that auto reads",
            [&o](const std::string& text) { o.table = parse_path(text, "--table"); });
  add_value(app, "--sizes", "SPEC",
            "bytes per rank: 8:64M, 1K:1G:x4, 1K:8K:+1K, 4,1K,1M [per test]",
            [&o](const std::string& text) { o.sizes = parse_sizes(text, "--sizes"); });
  add_value(app, "--dtype", "NAME", "data type, see `list dtypes` [float32]",
            [&o](const std::string& text) { o.dtype = parse_data_type(text, "--dtype"); });
  add_value(app, "--op", "NAME", "reduction, see `list ops` [sum]",
            [&o](const std::string& text) { o.op = parse_reduce_op(text, "--op"); });
  add_value(app, "--root", "R", "root rank of rooted collectives, or rotate [0]",
            [&o](const std::string& text) { parse_root(text, o); });
  app.add_flag("--in-place", o.in_place, "input and output share their memory");
  app.add_flag("--cold", o.cold, "change buffers so that caches are cold");
  add_value(app, "--buffers", "KIND[,KIND]",
            "registered (memory of the transport) or private (malloc), a row for each [registered]",
            [&o](const std::string& text) { o.buffers = parse_buffers(text); });
}

void add_sampling_options(CLI::App& app, RunOptions& o) {
  add_value(app, "--iterations", "N", "exactly N samples per row [adaptive]",
            [&o](const std::string& text) {
              o.sampling.iterations = parse_at_least_one(text, "--iterations");
            });
  add_value(app, "--warmup", "N", "untimed calls per row [3 calls and 10 ms]",
            [&o](const std::string& text) { o.sampling.warmup = parse_count(text, "--warmup"); });
  add_value(app, "--time-limit", "S", "seconds per row of adaptive runs [2]",
            [&o](const std::string& text) {
              o.sampling.time_limit_s = parse_positive(text, "--time-limit");
            });
  add_value(
      app, "--confidence", "P", "of the median's interval [0.95]",
      [&o](const std::string& text) { o.sampling.confidence = parse_share(text, "--confidence"); });
  add_value(app, "--precision", "P", "relative half-width of the interval to stop at [0.02]",
            [&o](const std::string& text) {
              o.sampling.precision = parse_positive(text, "--precision");
            });
  add_value(app, "--check", "N", "validate N iterations per row, untimed [1]",
            [&o](const std::string& text) { o.check = parse_count(text, "--check"); });
  add_value(app, "--seed", "N", "of data and order [1]",
            [&o](const std::string& text) { o.seed = parse_count(text, "--seed"); });
}

void add_output_options(CLI::App& app, RunOptions& o) {
  add_value(app, "--format", "NAME", "stdout form: table, osu, csv, json [table]",
            [&o](const std::string& text) { o.format = parse_format(text); });
  add_value(app, "-o,--output", "FILE", "result file, always the full JSON record",
            [&o](const std::string& text) { o.output = parse_path(text, "-o/--output"); });
  add_value(app, "--samples", "FILE", "every sample, JSON lines",
            [&o](const std::string& text) { o.samples = parse_path(text, "--samples"); });
  add_value(app, "--label", "TEXT", "stored in the record",
            [&o](const std::string& text) { o.label = text; });
}

/// What a launcher's ranks use when nothing else is asked for.
std::string launched_transport(const LauncherEnvironment& launcher) {
  if (!launcher.rendezvous) return "mpi";
  for (const TransportInfo& transport : transports()) {
    if (transport.name == "ucx" && transport.available) return "ucx";
  }
  return "grpc";
}

void complete_transport(RunOptions& options, const LauncherEnvironment& launcher) {
  const bool launched = !launcher.kind.empty() && (launcher.kind != "slurm" || launcher.size > 1);
  if (options.transport.empty()) {
    options.transport = launched ? launched_transport(launcher) : "shm";
  }
  const bool local =
      options.transport == "shm" || options.transport == "threads" || options.transport == "sim";
  require(!local || launcher.size <= 1,
          "--transport {}: started by {} with {} ranks, but it starts its own; use --transport {} "
          "or leave the launcher out",
          options.transport, launcher.kind, launcher.size, launched_transport(launcher));
  if (options.transport == "mpi") choose_mpi(options.mpi, launcher);
  for (const TransportInfo& transport : transports()) {
    if (transport.name == options.transport && !transport.available) {
      fail(Errc::unavailable, "--transport {}: {}", options.transport, transport.reason);
    }
  }
  const auto has_no_effect = [&options](const char* option) {
    options.warnings.push_back(
        fmt::format("{} has no effect on transport {}", option, options.transport));
    fmt::print(stderr, "commtune: {}\n", options.warnings.back());
  };
  if (local && !options.mpi.empty()) has_no_effect("--mpi");
  if (options.transport != "sim" && !options.platform.empty()) has_no_effect("--platform");
  if (!local && launched) {
    require(options.ranks == 0 || options.ranks == launcher.size,
            "-n/--ranks {}: {} started {} ranks; leave the option out under a launcher",
            options.ranks, launcher.kind, launcher.size);
    options.ranks = launcher.size;
  }
  if (options.ranks == 0) options.ranks = 2;
  if (!local) return;
  const HostLimits limits = host_limits();
  if (limits.processes && static_cast<std::uint64_t>(options.ranks) + 1 > *limits.processes) {
    fail(Errc::unavailable, "-n/--ranks {}: only {} more processes can be started ({})",
         options.ranks, *limits.processes, limits.processes_from);
  }
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  options.ranks = 0;  // not given
  add_algorithm_options(app);
  add_job_options(app, options);
  add_call_options(app, options);
  add_sampling_options(app, options);
  add_output_options(app, options);
}

void complete_run_options(RunOptions& options) {
  const LauncherEnvironment launcher = launcher_environment();
  complete_transport(options, launcher);
  require(options.root < options.ranks, "--root {}: with {} ranks it must be below {}",
          options.root, options.ranks, options.ranks);
  // A window of 64 messages and a part per rank must stay countable.
  const std::uint64_t largest =
      (std::uint64_t{1} << 56) / static_cast<std::uint64_t>(options.ranks);
  for (const std::uint64_t size : options.sizes) {
    require(size <= largest, "--sizes {}: at most {} with {} ranks", size, format_size(largest),
            options.ranks);
  }
  if (launcher.rank != 0) return;
  if (!options.output.empty()) require_writable(options.output, "-o/--output");
  if (!options.samples.empty()) require_writable(options.samples, "--samples");
}

}  // namespace commtune
