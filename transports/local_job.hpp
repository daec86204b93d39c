#pragma once
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "transports/job.hpp"
#include "transports/local/board.hpp"
#include "transports/rank_body.hpp"
#include "transports/signals.hpp"
#include "transports/watchdog.hpp"

namespace commtune {

/// The processes of a job on this host, from start to the last one's end.
class LocalJob {
 public:
  /// What one process does: the work of ranks [first, first + count). Each rank's end is told to
  /// the board by end_of_rank().
  using Process = std::function<void(Rank first, Rank count)>;

  LocalJob(const LaunchOptions& options, local::Board& board)
      : board_(board), watchdog_(board.monitors(), options.timeout_s) {}
  ~LocalJob() { kill_all(); }
  LocalJob(const LocalJob&) = delete;
  LocalJob& operator=(const LocalJob&) = delete;

  /// Forks a process for every `per_process` ranks.
  void start(Rank per_process, const Process&);
  /// Waits for all of them; ends them when one fails or none makes progress.
  Outcome supervise();

 private:
  struct Child {
    pid_t pid;
    Rank first, count;  ///< the ranks it runs
    bool running;
  };
  void fork_child(Rank first, Rank count, const Process&);
  void reap();
  void judge(const Child&, int wait_status);
  bool any_running() const;
  void kill_all();
  Outcome outcome() const;

  local::Board& board_;
  SignalGuard signals_;
  Watchdog watchdog_;
  std::vector<Child> children_;
};

/// Announces a rank that runs in this process.
void begin_rank(local::Board&, Rank);
void end_of_rank(local::Board&, Rank, const RankResult&);

}  // namespace commtune
