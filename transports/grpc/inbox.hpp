#pragma once
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transports/grpc/wire.hpp"

namespace commtune::grpc {

/// What has come from one peer and what is waited for, lane by lane.
class Inbox {
 public:
  Inbox(Rank self, Rank from) : self_(self), from_(from), lanes_(lane_count) {}
  void expect(Lane, std::span<std::byte> data, Completion);
  /// Takes the next chunk of the stream. Throws Error(peer) when it does not fit what is expected.
  void take(Chunk);
  /// Completions since the last call, oldest first.
  std::size_t report_finished();

 private:
  struct Expected {
    std::span<std::byte> data;
    Completion completion;
  };
  struct State {
    std::deque<Expected> expected;
    std::deque<Chunk> early;  ///< came before anybody waited for them
  };
  /// Copies the chunk to the transfer that waits first on its lane.
  void place(State&, const Chunk&);

  Rank self_, from_;
  std::vector<State> lanes_;
  std::vector<Completion> finished_, reporting_;
};

}  // namespace commtune::grpc
