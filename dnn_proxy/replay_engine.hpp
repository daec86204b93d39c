#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/libraries/library.hpp"
#include "collectives/runtime/operation.hpp"
#include "collectives/runtime/selection.hpp"
#include "devices/host/gemm.hpp"
#include "dnn_proxy/replay_plan.hpp"
#include "harness/timeline.hpp"
#include "transports/job.hpp"

namespace commtune {

/// The implementation of one call.
struct CallChoice {
  std::string asked, used, evidence;
  const Algorithm* algorithm = nullptr;  ///< null: the library's own
  Params params;
};

/// What `--algorithm auto` means; empty: select_built_in.
using SelectAlgorithm = std::function<Selection(Collective, Rank, std::uint64_t, DataType)>;

/// Chooses for every call from the names of `--algorithm`: the first that the collective has
/// with these parameters, else auto. Throws Error(usage) when a name fits no collective of the
/// plan.
std::vector<CallChoice> choose_algorithms(const ReplayPlan&, const std::vector<std::string>& names,
                                          Rank size, const SelectAlgorithm&);

/// Where one rank's time in one step went, nanoseconds. Trivially copyable: ranks exchange it.
struct StepTimes {
  std::int64_t step = 0;
  std::int64_t compute = 0;   ///< in matrix products
  std::int64_t progress = 0;  ///< moving communication on between pieces of compute
  std::int64_t issue = 0;     ///< starting collectives
  std::int64_t exposed = 0;   ///< blocked in waits and synchronous collectives
  std::int64_t actions = 0;
  /// What is left: the engine's own time.
  std::int64_t overhead() const noexcept { return step - compute - progress - issue - exposed; }
};

struct CallSample {
  std::uint32_t call = 0;
  std::int64_t ns = 0;  ///< start to completion as this rank saw it
};

struct CallCheck {
  std::uint64_t checked = 0, wrong = 0;
  std::string first;  ///< first wrong element
};

/// One rank's replay of a plan: compute is real matrix products, cut into pieces between which
/// communication progresses. Everything is prepared in the constructor.
class ReplayEngine {
 public:
  /// `library` may be null when no choice needs it. Collective: all ranks calibrate together.
  ReplayEngine(Job&, const ReplayPlan&, const std::vector<CallChoice>&, Library* library);

  double piece_ns() const noexcept { return piece_ns_; }
  std::uint64_t flops_per_piece() const noexcept { return gemm_.flops_per_piece(); }
  std::uint64_t buffer_bytes() const noexcept { return buffer_bytes_; }
  const std::vector<CallCheck>& checks() const noexcept { return checks_; }

  /// Runs one step; appends a sample per collective of the step to `samples` and, if given, bars
  /// to `events`.
  StepTimes run(const StepPlan&, std::vector<CallSample>& samples,
                std::vector<TimelineEvent>* events);
  /// Runs what follows the last step.
  void run_after();
  /// Runs a step without its compute on known data and compares every result; not timed.
  void check(const StepPlan&, std::uint64_t seed);

 private:
  struct Instance {
    Call call;
    std::unique_ptr<Operation> operation;
  };
  struct Flight {
    bool active = false;
    std::uint32_t call = 0;
    std::int64_t started = 0, finished = 0;
    std::size_t sample = 0;
    bool done = false;
  };

  void prepare_all(Library*);
  Instance& instance(const Action&);
  void calibrate();
  void perform(const std::vector<Action>&, std::uint64_t step);
  void compute(const Action&);
  void start(const Action&);
  void wait(const Action&);
  void run_now(const Action&);
  bool progress_all();
  void finish(const Action&);
  void fill(const Action&);
  void verify(const Action&);
  void bar(std::string name, const char* category, std::uint32_t thread, std::int64_t begin,
           std::int64_t end, const Action* action);

  Job& job_;
  const ReplayPlan& plan_;
  const std::vector<CallChoice>& choices_;
  Gemm gemm_;
  double piece_ns_ = 0, owed_ns_ = 0;
  std::uint64_t buffer_bytes_ = 0;
  std::vector<Buffer> memory_;       ///< one per slot
  std::vector<Instance> instances_;  ///< calls x slots, those that are used
  std::vector<Flight> flights_;      ///< one per slot
  std::uint32_t in_flight_ = 0;
  std::vector<CallCheck> checks_;
  std::vector<std::string> names_;  ///< of the calls, for the monitor: "allreduce/ring"
  StepTimes times_;
  std::vector<CallSample>* samples_ = nullptr;
  std::vector<TimelineEvent>* events_ = nullptr;
  std::uint64_t step_ = 0, seed_ = 0;
  bool checking_ = false;
};

}  // namespace commtune
