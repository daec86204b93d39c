#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transports/rendezvous/rendezvous.hpp"
#include "transports/rendezvous/wire.hpp"

namespace commtune::rendezvous {

/// The process that all ranks are connected to: a thread of rank 0. It completes the rounds of the
/// bootstrap and is the first to learn that a rank is lost.
class Hub {
 public:
  /// Listens and starts the thread. Throws Error(system) when it cannot listen.
  explicit Hub(const Rendezvous&);
  /// Waits until everybody has left, at most a few seconds.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  struct Connection {
    Descriptor file;
    Rank rank = -1;  ///< -1 until it has proved that it belongs to the job
    bool leaving = false, closed = false;
    std::int64_t since_ns = 0, heard_ns = 0;
    std::vector<std::byte> hello;
    FrameReader frames;
    std::deque<Bytes> out;
    std::size_t out_used = 0;  ///< bytes of out.front() that are sent
  };
  void run();
  void accept_new();
  void read_from(Connection&);
  void take_hello(Connection&, std::span<const std::byte>);
  void admit(Connection&);
  void turn_away(Connection&, const std::string& why);
  void handle(Connection&, const Frame&);
  void complete_round();
  void write_to(Connection&);
  void broadcast(std::vector<std::byte> frame);
  /// The job has failed: everybody is told once.
  void lose(Rank rank, const std::string& why);
  void look_at_the_clock();
  std::string missing_ranks() const;
  bool all_leaving() const;

  Rendezvous about_;
  Descriptor listener_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> members_;  ///< by rank, null until admitted
  std::vector<std::vector<std::byte>> parts_;
  std::vector<bool> contributed_;
  std::size_t arrived_ = 0, parts_here_ = 0;
  bool welcomed_ = false, failed_ = false, said_farewell_ = false;
  std::int64_t begun_ns_, pinged_ns_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace commtune::rendezvous
