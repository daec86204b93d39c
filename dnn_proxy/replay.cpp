#include "dnn_proxy/replay.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unistd.h>

#include "core/error.hpp"
#include "dnn_proxy/replay_report.hpp"
#include "harness/clock_sync.hpp"
#include "harness/report.hpp"

namespace commtune {
namespace {

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

/// Collective: every rank must have the same communication and the same options.
void agree_on_plan(Bootstrap& bootstrap, const ReplayPlan& plan, const ReplayOptions& options,
                   const std::vector<CallChoice>& choices) {
  std::string text = communication_of(plan);
  for (const CallChoice& choice : choices)
    text += fmt::format("{} {} {}\n", choice.used, choice.params.segments, choice.params.radix);
  text += fmt::format("steps {} warmup {} check {} seed {}", options.steps.value_or(0),
                      options.run.sampling.warmup.value_or(1), options.run.check, options.run.seed);
  const auto all = allgather_string(bootstrap, text);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    require(all[rank] == all[0],
            "rank {} replays other collectives, algorithms or step counts than rank 0; start all "
            "ranks with the same workload and options",
            rank);
}

/// The library for --algorithm native; null when no choice needs it.
std::unique_ptr<Library> open_if_needed(const Job& job, const std::vector<CallChoice>& choices) {
  const bool native = std::any_of(choices.begin(), choices.end(), [](const CallChoice& choice) {
    return choice.algorithm == nullptr;
  });
  return native ? open_library(job) : nullptr;
}

class Replay {
 public:
  Replay(Job& job, const Workload& workload, const ReplayOptions& options, std::ostream& out)
      : job_(job),
        workload_(workload),
        options_(options),
        out_(out),
        plan_(make_plan(workload, job.rank(), {options.compute_scale, options.gaps, replay_slots})),
        choices_(choose_algorithms(plan_, options.run.algorithms, job.size(), options.select)),
        clocks_(synchronise_clocks(job)) {}

  int run() {
    job_.monitor.describe("replay", 0);
    job_.monitor.enter(Phase::setup);
    agree_on_plan(job_.bootstrap, plan_, options_, choices_);
    Json description = describe_run(job_, options_.run, clocks_);
    ResultFile file(job_.rank() == 0 ? options_.run.output : std::filesystem::path(), description);
    const bool speaks = job_.rank() == 0;
    const bool people = options_.run.format == "table";
    if (speaks && people) print_workload(out_, workload_, options_);
    library_ = open_if_needed(job_, choices_);
    ReplayEngine engine(job_, plan_, choices_, library_.get());
    check(engine);
    measure(engine);
    if (!clocks_.shared()) {
      clocks_.end(read_clocks(job_, clocks_));
      const Json clocks = describe_clocks(clocks_, allgather_string(job_.bootstrap, host_name()));
      description.update(clocks);
      file.update_run(clocks);
    }
    ReplayMeasurement measured = gather_replay(job_, plan_, engine, times_, samples_);
    describe_steps_of(measured);
    if (speaks && people) print_measurement(out_, plan_, choices_, measured, options_, engine);
    return report(file, description, measured);
  }

 private:
  const StepPlan& step(std::uint64_t index) const {
    return plan_.steps[index % plan_.steps.size()];
  }
  std::uint64_t step_count() const { return options_.steps.value_or(plan_.steps.size()); }

  void check(ReplayEngine& engine) {
    job_.monitor.enter(Phase::check);
    std::vector<const StepPlan*> distinct;
    for (const StepPlan& candidate : plan_.steps) {
      const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const StepPlan* other) {
        return moves(*other) == moves(candidate);
      });
      if (!known) distinct.push_back(&candidate);
    }
    for (std::uint64_t i = 0; i < options_.run.check; ++i)
      for (const StepPlan* candidate : distinct) engine.check(*candidate, options_.run.seed + i);
  }

  /// The actions of a step besides compute.
  static std::vector<Action> moves(const StepPlan& step) {
    std::vector<Action> actions;
    for (const auto* list : {&step.before, &step.actions})
      for (const Action& action : *list)
        if (action.kind != Action::Kind::compute) actions.push_back(action);
    return actions;
  }

  void measure(ReplayEngine& engine) {
    job_.monitor.enter(Phase::warmup);
    std::vector<CallSample> discarded;
    for (std::uint64_t i = 0; i < options_.run.sampling.warmup.value_or(1); ++i)
      engine.run(step(i), discarded, nullptr);
    MachineProbe probe(job_);
    probe.sample(machine_, 0);
    open_timeline();
    SyncBarrier barrier(job_.transport);
    barrier.wait();
    job_.monitor.enter(Phase::timed);
    std::vector<TimelineEvent> events;
    for (std::uint64_t i = 0; i < step_count(); ++i) {
      times_.push_back(engine.run(step(i), samples_, timeline_ ? &events : nullptr));
      if (timeline_) timeline_->append(std::move(events));
      events.clear();
    }
    engine.run_after();
    close_timeline();
    probe.sample(machine_, 1);
    job_.monitor.enter(Phase::idle);
  }

  void open_timeline() {
    if (options_.timeline.empty()) return;
    if (job_.rank() == 0) TimelineWriter::create(options_.timeline);
    // The moment 0 of the file is now, on rank 0's clock.
    const std::int64_t zero = allgather_value(job_.bootstrap, job_.transport.now_ns()).front();
    const std::int64_t offset = clocks_.reading(job_.rank()).offset_ns;
    std::vector<std::string> threads{"compute"};
    for (std::size_t slot = 1; slot <= plan_.slots; ++slot) {
      threads.push_back(fmt::format("communication {}", slot));
    }
    timeline_ = std::make_unique<TimelineWriter>(options_.timeline, job_.rank(), zero + offset,
                                                 std::move(threads));
  }
  void close_timeline() {
    if (!timeline_) return;
    job_.bootstrap.barrier();
    if (job_.rank() == 0) timeline_->close_array();
    timeline_.reset();
  }

  void describe_steps_of(ReplayMeasurement& measured) const {
    measured.check_iterations = options_.run.check;
    for (std::uint64_t i = 0; i < step_count(); ++i) {
      measured.numbers.push_back(step(i).number);
      measured.recorded_ns.push_back(step(i).recorded_ns);
    }
  }

  Row common_row() {
    Row row = machine_;
    const auto hosts = allgather_string(job_.bootstrap, host_name());
    row.nodes = static_cast<int>(std::set<std::string>(hosts.begin(), hosts.end()).size());
    row.ranks = job_.size();
    for (const std::string& host : hosts)
      row.ppn = std::max(row.ppn, static_cast<int>(std::count(hosts.begin(), hosts.end(), host)));
    row.transport = job_.transport.name();
    row.library = job_.library.name;
    if (job_.transport.crowded()) row.flags.push_back("oversubscribed");
    row.params["workload"] = workload_.source;
    row.params["compute_scale"] = options_.compute_scale;
    row.params["gaps"] = options_.gaps;
    return row;
  }

  int report(ResultFile& file, const Json& description, const ReplayMeasurement& measured) {
    const auto rows = replay_rows(common_row(), plan_, choices_, measured, options_);
    if (job_.rank() != 0) return exit_ok;
    std::string reason;
    for (const Row& row : rows) {
      file.add(row);
      if (row.status == "failed" && reason.empty()) reason = row.collective + ": " + row.reason;
    }
    const std::string_view status = reason.empty() ? "ok" : "failed";
    file.finish(status, reason);
    if (options_.run.format != "table") {
      const auto printer = make_report(options_.run.format, out_);
      printer->begin(description);
      for (const Row& row : rows) printer->add(row);
      printer->end(status, reason);
    }
    return reason.empty() ? exit_ok : exit_measured_failure;
  }

  Job& job_;
  const Workload& workload_;
  const ReplayOptions& options_;
  std::ostream& out_;
  const ReplayPlan plan_;
  const std::vector<CallChoice> choices_;
  ClockMap clocks_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<TimelineWriter> timeline_;
  Row machine_;
  std::vector<StepTimes> times_;
  std::vector<CallSample> samples_;
};

}  // namespace

int replay(Job& job, const Workload& workload, const ReplayOptions& options, std::ostream& out) {
  check_replayable(workload, job.size());
  return Replay(job, workload, options, out).run();
}

}  // namespace commtune
