#include "transports/grpc/inbox.hpp"

#include <utility>

#include "core/error.hpp"

namespace commtune::grpc {

void Inbox::expect(Lane lane, std::span<std::byte> data, Completion completion) {
  State& state = lanes_[lane];
  state.expected.push_back({data, completion});
  while (!state.early.empty() && !state.expected.empty()) {
    place(state, state.early.front());
    state.early.pop_front();
  }
}

void Inbox::take(Chunk chunk) {
  State& state = lanes_[chunk.header.lane];
  if (state.expected.empty()) {
    state.early.push_back(std::move(chunk));
  } else {
    place(state, chunk);
  }
}

void Inbox::place(State& state, const Chunk& chunk) {
  const Expected& expected = state.expected.front();
  const Header& header = chunk.header;
  if (header.total != expected.data.size()) {
    fail(Errc::peer, "rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}", from_,
         header.total, self_, expected.data.size(), header.lane);
  }
  chunk.copy_to(expected.data.subspan(header.offset, chunk.length));
  if (header.offset + chunk.length < header.total) return;
  finished_.push_back(expected.completion);
  state.expected.pop_front();
}

std::size_t Inbox::report_finished() {
  reporting_.swap(finished_);
  for (const Completion& each : reporting_) each.sink->complete(each.id);
  const std::size_t finished = reporting_.size();
  reporting_.clear();
  return finished;
}

}  // namespace commtune::grpc
