#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/topology.hpp"
#include "devices/host/work_rates.hpp"
#include "transports/binding.hpp"
#include "transports/launch.hpp"
#include "transports/local/endpoint.hpp"
#include "transports/local/local_bootstrap.hpp"
#include "transports/local_job.hpp"
#include "transports/module.hpp"
#include "transports/processors.hpp"
#include "transports/secret.hpp"

namespace commtune {

namespace {

using Body = std::function<int(Job&)>;

/// Where the ranks of this host run: each on a processor of its own while there are enough.
class Seats {
 public:
  explicit Seats(const LaunchOptions& options)
      : processors_(usable_processors()),
        binding_(parse_binding(options.bind)),
        ranks_(options.ranks),
        crowded_(!suffice()) {}
  bool crowded() const noexcept { return crowded_; }
  void take(Rank rank) const {
    if (binding_.kind != RankBinding::Kind::launcher) return apply_binding(binding_, rank, ranks_);
    if (crowded_) return;
    bind_to_processor(processors_[static_cast<std::size_t>(rank) % processors_.size()]);
  }

 private:
  bool suffice() const {
    std::size_t seats = processors_.size();
    if (binding_.kind == RankBinding::Kind::list) {
      seats = std::set<int>(binding_.processors.begin(), binding_.processors.end()).size();
    }
    return static_cast<std::size_t>(ranks_) <= seats;
  }

  std::vector<int> processors_;
  RankBinding binding_;
  int ranks_;
  bool crowded_;
};

MonitorSlot& slot_of(local::Board& board, Rank rank) {
  return board.monitors()[static_cast<std::size_t>(rank)];
}

}  // namespace

Outcome run_local_job(const LaunchOptions& options, local::Fabric::Kind kind, const Body& body) {
  const Seats seats(options);
  local::Board board(options.ranks);
  local::Fabric fabric(kind, board, seats.crowded());
  const auto run_rank = [&](Rank rank) {
    begin_rank(board, rank);
    end_of_rank(board, rank, run_guarded([&] {
                  seats.take(rank);
                  local::Endpoint endpoint(fabric, rank);
                  local::LocalBootstrap bootstrap(board, rank);
                  Job job{bootstrap, endpoint, slot_of(board, rank), {}};
                  return body(job);
                }));
  };
  LocalJob job(options, board);
  const bool threads = kind == local::Fabric::Kind::threads;
  job.start(threads ? options.ranks : 1, [&](Rank first, Rank count) {
    if (count == 1) return run_rank(first);
    std::vector<std::thread> ranks;
    for (Rank rank = first; rank < first + count; ++rank) {
      ranks.emplace_back([&run_rank, rank] { run_rank(rank); });
    }
    for (std::thread& rank : ranks) rank.join();
  });
  return job.supervise();
}

Outcome run_module_job(const LaunchOptions& options, const Body& body) {
  const TransportModule& module = transport_module(options.transport);
  const Seats seats(options);
  const std::string secret = random_secret();
  local::Board board(options.ranks);
  LocalJob job(options, board);
  job.start(1, [&](Rank rank, Rank) {
    begin_rank(board, rank);
    seats.take(rank);
    end_of_rank(
        board, rank, run_guarded([&] {
          local::LocalBootstrap bootstrap(board, rank);
          const auto runtime =
              module.open({bootstrap, board, seats.crowded(), "127.0.0.1", secret});
          Job rank_job{bootstrap, runtime->transport(), slot_of(board, rank), runtime->library()};
          return body(rank_job);
        }));
  });
  return job.supervise();
}

Outcome run_simulated_job(const LaunchOptions& options, const Body& body) {
  const TransportModule& module = transport_module(options.transport);
  local::Board board(options.ranks);
  LocalJob job(options, board);
  const auto run_rank = [&](Bootstrap& bootstrap, Transport& transport,
                            const LoadedLibrary& library, const std::string& host) {
    const Rank rank = bootstrap.rank();
    end_of_rank(board, rank, run_guarded([&] {
                  Job rank_job{bootstrap, transport, slot_of(board, rank), library, host};
                  return body(rank_job);
                }));
  };
  const auto beat = [&](Rank rank) {
    MonitorSlot& slot = slot_of(board, rank);
    slot.beat(slot.iteration.load(std::memory_order_relaxed));
  };
  job.start(options.ranks, [&](Rank, Rank count) {
    for (Rank rank = 0; rank < count; ++rank) begin_rank(board, rank);
    const RankResult result = run_guarded([&] {
      module.simulate({count, options.platform, measure_work_rates(), board, beat, run_rank});
      return 0;
    });
    if (result.error) end_of_rank(board, 0, result);
  });
  return job.supervise();
}

}  // namespace commtune
