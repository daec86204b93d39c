#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.hpp"
#include "transports/binding.hpp"
#include "transports/launch.hpp"
#include "transports/module.hpp"
#include "transports/monitor_file.hpp"
#include "transports/mpi_choice.hpp"
#include "transports/processors.hpp"
#include "transports/rank_body.hpp"
#include "transports/rank_guard.hpp"
#include "transports/rendezvous/rendezvous.hpp"
#include "transports/signals.hpp"

namespace commtune {

namespace {

using Body = std::function<int(Job&)>;

/// One rank of a launcher's job: it joins, works, and leaves in a way that takes no rank hostage.
class LaunchedRank {
 public:
  LaunchedRank(const LaunchOptions& options, const LauncherEnvironment& launcher);
  ~LaunchedRank() { forget_termination(); }
  LaunchedRank(const LaunchedRank&) = delete;
  LaunchedRank& operator=(const LaunchedRank&) = delete;
  Outcome run(const Body& body);

 private:
  std::unique_ptr<Membership> join();
  void check_size(const Bootstrap&, const std::string& seen_by) const;
  int work(Membership&, const Body&);
  bool all_agree(Membership&, const RankResult&);
  Outcome leave(std::unique_ptr<Membership>, const RankResult&);
  void report_shared(Membership&, const RankResult&);
  Outcome outcome(int status, std::string reason) const;
  void print(const std::string& message) const;
  bool monitored() const { return slot_ != own_slot_.get(); }

  static constexpr double agreement_s = 2, finalize_s = 10;
  const LaunchOptions& options_;
  LauncherEnvironment launcher_;
  TransportModule::Connection* mpi_ = nullptr;  ///< the membership when an MPI library gave it
  std::unique_ptr<MonitorFile> file_;
  std::unique_ptr<MonitorSlot> own_slot_ = std::make_unique<MonitorSlot>();
  MonitorSlot* slot_ = own_slot_.get();
  std::function<void(const std::string&)> lost_;  ///< LaunchOptions::lost on rank 0, else empty
  std::unique_ptr<RankGuard> guard_;
};

LaunchedRank::LaunchedRank(const LaunchOptions& options, const LauncherEnvironment& launcher)
    : options_(options), launcher_(launcher) {
  if (const char* const address = std::getenv(MonitorFile::variable)) {
    file_ = std::make_unique<MonitorFile>(address, launcher.size);
    if (!file_->slots().empty() && launcher.rank < launcher.size) {
      slot_ = &file_->slots()[static_cast<std::size_t>(launcher.rank)];
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      mark_termination(*slot_, true);
    }
  }
  slot_->enter(Phase::start);
  slot_->pid.store(getpid(), std::memory_order_release);
  if (!monitored()) mark_termination(*slot_, false);
  if (!monitored() && launcher.rank == 0) lost_ = options.lost;
  guard_ = std::make_unique<RankGuard>(*slot_, launcher.rank, monitored() ? 0 : options.timeout_s,
                                       lost_);
}

std::unique_ptr<Membership> LaunchedRank::join() {
  if (launcher_.rendezvous) {
    require(options_.transport != "mpi",
            "--transport mpi: {} started these ranks, an MPI library can only be joined under its "
            "own launcher; use mpirun, or --transport ucx or grpc",
            launcher_.kind);
    return join_rendezvous(rendezvous_from_environment(launcher_));
  }
  const MpiChoice choice = choose_mpi(options_.mpi, launcher_);
  auto connection = transport_module(choice.flavour).join();
  mpi_ = connection.get();
  return connection;
}

void LaunchedRank::check_size(const Bootstrap& bootstrap, const std::string& seen_by) const {
  const Rank seen = bootstrap.size();
  if (seen == launcher_.size) return;
  fail(Errc::unavailable,
       "the launcher started {} ranks, the MPI library sees {}: {} was loaded, which is not this "
       "launcher's MPI or did not start; use that library's own launcher or --mpi",
       launcher_.size, seen, seen_by);
}

int LaunchedRank::work(Membership& membership, const Body& body) {
  const auto [index, ranks] = place_on_host(membership.bootstrap());
  apply_binding(parse_binding(options_.bind), index, ranks);
  if (options_.transport == "mpi") {
    Job job{membership.bootstrap(), mpi_->transport(), *slot_, mpi_->library()};
    return body(job);
  }
  const auto runtime = transport_module(options_.transport)
                           .open({membership.bootstrap(), membership.health(),
                                  ranks_are_crowded(membership.bootstrap()), membership.address(),
                                  membership.secret()});
  Job job{membership.bootstrap(), runtime->transport(), *slot_, runtime->library()};
  return body(job);
}

Outcome LaunchedRank::run(const Body& body) {
  std::unique_ptr<Membership> membership;
  const RankResult joined = run_guarded([&] {
    membership = join();
    if (mpi_ != nullptr) check_size(membership->bootstrap(), mpi_->library().name);
    return 0;
  });
  if (joined.error) {
    slot_->fail(joined.message);
    slot_->status.store(joined.status, std::memory_order_release);
    guard_->arm(finalize_s, joined.status, {});
    membership.reset();
    return outcome(joined.status, joined.message);
  }
  const RankResult result = run_guarded([&] { return work(*membership, body); });
  return leave(std::move(membership), result);
}

/// True when every rank ended the same way, so that the library can be finalized. Must not be
/// called when other ranks may still be at work without a deadline armed.
bool LaunchedRank::all_agree(Membership& membership, const RankResult& result) {
  const std::uint64_t mine =
      std::hash<std::string>{}(result.message) * 31U + static_cast<std::uint64_t>(result.status);
  try {
    for (const std::uint64_t theirs : allgather_value(membership.bootstrap(), mine)) {
      if (theirs != mine) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

Outcome LaunchedRank::leave(std::unique_ptr<Membership> membership, const RankResult& result) {
  std::fflush(stdout);
  if (result.status == 0) {
    slot_->enter(Phase::done);
    slot_->status.store(0, std::memory_order_release);
  } else {
    const std::string message =
        result.error ? result.message
                     : fmt::format("ended with status {} in {}", result.status, slot_->where());
    slot_->fail(message);
    slot_->status.store(result.status, std::memory_order_release);
    guard_->arm(agreement_s, result.status, monitored() ? std::string() : message);
    const bool together =
        (!result.error || *result.error == Errc::usage) && all_agree(*membership, result);
    guard_->disarm();
    if (together) {
      report_shared(*membership, result);
    } else {
      print(message);
      guard_->arm(agreement_s, result.status, {});
      membership->abort(result.status);
    }
  }
  guard_->arm(finalize_s, result.status,
              result.status == 0
                  ? "leaving the job took too long; the other ranks were not waited for"
                  : "");
  membership.reset();
  guard_->disarm();
  return outcome(result.status, {});
}

/// Rank 0 tells what all ranks failed with before any of them may end: a launcher takes the others
/// down as soon as one has ended with a status.
void LaunchedRank::report_shared(Membership& membership, const RankResult& result) {
  if (!result.message.empty() && !monitored() && launcher_.rank == 0) {
    std::fprintf(stderr, "commtune: %s\n", result.message.c_str());
    if (lost_) lost_(result.message);
  }
  guard_->arm(agreement_s, result.status, {});
  try {
    membership.bootstrap().barrier();
  } catch (const Error&) {  // another rank did not wait; what was to be told is told
  }
  guard_->disarm();
}

/// The reason travels once: through the monitor to the process that supervises, else with rank 0.
Outcome LaunchedRank::outcome(int status, std::string reason) const {
  if (monitored() || launcher_.rank != 0) reason.clear();
  return {status, std::move(reason), launcher_.rank};
}

void LaunchedRank::print(const std::string& message) const {
  if (!monitored())
    std::fprintf(stderr, "commtune: rank %d: %s\n", launcher_.rank, message.c_str());
}

}  // namespace

Outcome join_job(const LaunchOptions& options, const LauncherEnvironment& launcher,
                 const Body& body) {
  return LaunchedRank(options, launcher).run(body);
}

}  // namespace commtune
