#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.hpp"
#include "transports/launch.hpp"
#include "transports/module.hpp"
#include "transports/monitor_file.hpp"
#include "transports/rank_body.hpp"
#include "transports/rank_guard.hpp"
#include "transports/signals.hpp"

namespace commtune {

namespace {

using Connection = TransportModule::Connection;
using Body = std::function<int(Job&)>;

/// One rank of a launcher's job: it joins, works, and leaves in a way that takes no rank hostage.
class MpiRank {
 public:
  MpiRank(const LaunchOptions& options, const LauncherEnvironment& launcher);
  ~MpiRank() { forget_termination(); }
  MpiRank(const MpiRank&) = delete;
  MpiRank& operator=(const MpiRank&) = delete;
  Outcome run(const Body& body);

 private:
  std::unique_ptr<Connection> join() const;
  void check_size(Connection&) const;
  bool all_agree(Connection&, const RankResult&);
  Outcome leave(std::unique_ptr<Connection>, const RankResult&);
  void report_shared(Connection&, const RankResult&);
  Outcome outcome(int status, std::string reason) const;
  void print(const std::string& message) const;
  bool monitored() const { return slot_ != own_slot_.get(); }

  static constexpr double agreement_s = 2, finalize_s = 10;
  LauncherEnvironment launcher_;
  std::unique_ptr<MonitorFile> file_;
  std::unique_ptr<MonitorSlot> own_slot_ = std::make_unique<MonitorSlot>();
  MonitorSlot* slot_ = own_slot_.get();
  std::function<void(const std::string&)> lost_;  ///< LaunchOptions::lost on rank 0, else empty
  std::unique_ptr<RankGuard> guard_;
};

MpiRank::MpiRank(const LaunchOptions& options, const LauncherEnvironment& launcher)
    : launcher_(launcher) {
  if (const char* const path = std::getenv(MonitorFile::variable)) {
    file_ = std::make_unique<MonitorFile>(path, launcher.size);
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

std::unique_ptr<Connection> MpiRank::join() const {
  using Entry = const TransportModule* (*)();
  const auto entry =
      reinterpret_cast<Entry>(load_module("transport_mpi", "commtune_transport_module"));
  const TransportModule* const module = entry();
  if (module->abi != TransportModule::current_abi) {
    fail(Errc::unavailable, "the mpi module has interface version {}, this program needs {}",
         module->abi, TransportModule::current_abi);
  }
  return module->join();
}

void MpiRank::check_size(Connection& connection) const {
  const Rank seen = connection.transport().size();
  if (seen == launcher_.size) return;
  fail(Errc::unavailable,
       "the launcher started {} ranks, the MPI library sees {}: {} was loaded, which is not this "
       "launcher's MPI or did not start; use that library's own launcher",
       launcher_.size, seen, connection.library().name);
}

Outcome MpiRank::run(const Body& body) {
  std::unique_ptr<Connection> connection;
  const RankResult joined = run_guarded([&] {
    connection = join();
    check_size(*connection);
    return 0;
  });
  if (joined.error) {
    slot_->fail(joined.message);
    slot_->status.store(joined.status, std::memory_order_release);
    if (connection) {
      guard_->arm(finalize_s, joined.status, {});
      connection.reset();
    }
    return outcome(joined.status, joined.message);
  }
  const RankResult result = run_guarded([&] {
    Job job{connection->bootstrap(), connection->transport(), *slot_, connection->library()};
    return body(job);
  });
  return leave(std::move(connection), result);
}

/// True when every rank ended the same way, so that the library can be finalized. Must not be
/// called when other ranks may still be at work without a deadline armed.
bool MpiRank::all_agree(Connection& connection, const RankResult& result) {
  const std::uint64_t mine =
      std::hash<std::string>{}(result.message) * 31U + static_cast<std::uint64_t>(result.status);
  try {
    for (const std::uint64_t theirs : allgather_value(connection.bootstrap(), mine)) {
      if (theirs != mine) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

Outcome MpiRank::leave(std::unique_ptr<Connection> connection, const RankResult& result) {
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
        (!result.error || *result.error == Errc::usage) && all_agree(*connection, result);
    guard_->disarm();
    if (together) {
      report_shared(*connection, result);
    } else {
      print(message);
      guard_->arm(agreement_s, result.status, {});
      connection->abort(result.status);
    }
  }
  guard_->arm(finalize_s, result.status,
              result.status == 0 ? "MPI_Finalize did not end in time; leaving without it" : "");
  connection.reset();
  guard_->disarm();
  return outcome(result.status, {});
}

/// Rank 0 tells what all ranks failed with before any of them may end: a launcher takes the others
/// down as soon as one has ended with a status.
void MpiRank::report_shared(Connection& connection, const RankResult& result) {
  if (!result.message.empty() && !monitored() && launcher_.rank == 0) {
    std::fprintf(stderr, "commtune: %s\n", result.message.c_str());
    if (lost_) lost_(result.message);
  }
  guard_->arm(agreement_s, result.status, {});
  try {
    connection.bootstrap().barrier();
  } catch (const Error&) {  // another rank did not wait; what was to be told is told
  }
  guard_->disarm();
}

/// The reason travels once: through the monitor to the process that supervises, else with rank 0.
Outcome MpiRank::outcome(int status, std::string reason) const {
  if (monitored() || launcher_.rank != 0) reason.clear();
  return {status, std::move(reason), launcher_.rank};
}

void MpiRank::print(const std::string& message) const {
  if (!monitored())
    std::fprintf(stderr, "commtune: rank %d: %s\n", launcher_.rank, message.c_str());
}

}  // namespace

Outcome join_mpi_job(const LaunchOptions& options, const LauncherEnvironment& launcher,
                     const Body& body) {
  return MpiRank(options, launcher).run(body);
}

}  // namespace commtune
