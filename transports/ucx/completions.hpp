#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <ucp/api/ucp.h>
#include <vector>

#include "transports/transport.hpp"

namespace commtune::ucx {

class Completions;

/// What travels with an active message: which message of its lane it is.
struct MessageHeader {
  std::uint64_t number = 0, bytes = 0;
  Rank sender = 0;
  Lane lane = 0;
};

/// A transfer that UCX has not finished yet.
struct Operation {
  Completions* owner;
  Completion completion;
  std::size_t bytes;
  Rank peer;
  Lane lane;
  MessageHeader header;  ///< must lie still until the message has left
};

/// Transfers on their way, and those that finished inside UCX's callbacks until poll() reports
/// them. Allocates nothing once as many were in flight together.
class Completions {
 public:
  explicit Completions(Rank rank);
  Operation* take(Rank peer, Lane, std::size_t bytes, Completion);
  /// `got`: bytes that were received, for others operation->bytes.
  void finish(Operation*, ucs_status_t, std::size_t got);
  bool empty() const noexcept { return finished_.empty(); }
  /// Tells the sinks; returns how many. Throws Error(peer) instead once a transfer went wrong.
  std::size_t report();
  /// The text about a message that is not as expected.
  std::string mismatch(Rank from, Lane, std::size_t expected, std::size_t got, ucs_status_t) const;

  /// UCX's callback for sends, puts, gets and flushes; `operation` is user data.
  static void sent(void* request, ucs_status_t, void* operation);
  /// Parameters of a call whose end sent() hears of.
  static ucp_request_param_t told_by_sent(Operation*) noexcept;
  /// After a call with them: finishes what was finished at once.
  static void settle(Operation*, ucs_status_ptr_t request);

 private:
  Rank rank_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;
  std::vector<Completion> finished_, reporting_;
  std::string problem_;  ///< found in a callback, thrown by report()
};

/// What all operations have in common. Telling the memory's type saves UCX a look-up.
ucp_request_param_t host_memory() noexcept;

}  // namespace commtune::ucx
