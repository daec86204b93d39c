#include <cstring>

#include "core/error.hpp"
#include "transports/ucx/numbered.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace commtune::ucx {
namespace {

constexpr unsigned message_id = 0;

/// A receive that waits for its message.
struct Expected {
  Operation* operation = nullptr;
  std::byte* into = nullptr;
};

/// A message that came before its receive.
struct Arrival {
  std::uint64_t bytes = 0;
  void* data = nullptr;   ///< UCX's, to be fetched or released; null when it was copied
  bool to_fetch = false;  ///< rendezvous: still with the sender
  std::vector<std::byte> copied;
};

/// The messages of one sender on one lane.
struct Inbox {
  std::uint64_t posted = 0;  ///< receives so far
  Numbered<Expected> expected;
  Numbered<Arrival> arrived;
};

class AmTransport final : public UcxTransport {
 public:
  explicit AmTransport(const RuntimeContext& context)
      : UcxTransport(context, UCP_FEATURE_AM),
        sent_(static_cast<std::size_t>(size()) * lane_count),
        inboxes_(sent_.size()) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = message_id;
    param.cb = arrived;
    param.arg = this;
    check(ucp_worker_set_am_recv_handler(worker(), &param), "ucp_worker_set_am_recv_handler");
    // No rank sends before all can receive.
    context.bootstrap.barrier();
  }
  ~AmTransport() override { leave(); }

  void post_send(Rank to, Lane lane, std::span<const std::byte> data,
                 Completion completion) override {
    check_arguments(to, lane);
    Operation* const operation = completions().take(to, lane, data.size(), completion);
    operation->header = {sent_[index(to, lane)]++, data.size(), rank(), lane};
    const ucp_request_param_t param = Completions::told_by_sent(operation);
    Completions::settle(operation,
                        ucp_am_send_nbx(endpoint(to), message_id, &operation->header,
                                        sizeof(MessageHeader), data.data(), data.size(), &param));
  }

  void post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion completion) override {
    check_arguments(from, lane);
    Inbox& inbox = inboxes_[index(from, lane)];
    const std::uint64_t number = inbox.posted++;
    const Expected expected{completions().take(from, lane, data.size(), completion), data.data()};
    Arrival* const arrival = inbox.arrived.find(number);
    if (arrival == nullptr) return inbox.expected.insert(number, expected);
    if (arrival->to_fetch) {
      fetch(expected, arrival->data, arrival->bytes);
    } else {
      const void* const from_here =
          arrival->data != nullptr ? arrival->data : arrival->copied.data();
      take(expected, from_here, arrival->bytes);
      if (arrival->data != nullptr) ucp_am_data_release(worker(), arrival->data);
    }
    inbox.arrived.erase(number);
  }

 private:
  static std::size_t index(Rank peer, Lane lane) noexcept {
    return static_cast<std::size_t>(peer) * lane_count + lane;
  }

  static ucs_status_t arrived(void* self, const void* header, std::size_t header_bytes, void* data,
                              std::size_t bytes, const ucp_am_recv_param_t* param) {
    MessageHeader message;
    if (header_bytes != sizeof(message)) return UCS_OK;  // not one of ours
    std::memcpy(&message, header, sizeof(message));
    return static_cast<AmTransport*>(self)->receive(message, data, bytes, param->recv_attr);
  }

  /// UCS_INPROGRESS keeps `data` until it is fetched or released.
  ucs_status_t receive(const MessageHeader& message, void* data, std::size_t bytes,
                       std::uint64_t attributes) {
    if (message.sender < 0 || message.sender >= size() || message.lane >= lane_count) return UCS_OK;
    Inbox& inbox = inboxes_[index(message.sender, message.lane)];
    const bool to_fetch = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    if (const Expected* const waiting = inbox.expected.find(message.number)) {
      const Expected expected = *waiting;
      inbox.expected.erase(message.number);
      if (to_fetch) {
        fetch(expected, data, message.bytes);
        return UCS_INPROGRESS;
      }
      take(expected, data, message.bytes);
      return UCS_OK;
    }
    const bool may_stay = (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    Arrival arrival{message.bytes, data, to_fetch, {}};
    if (!to_fetch && !may_stay) {
      const auto* const begin = static_cast<const std::byte*>(data);
      arrival.data = nullptr;
      arrival.copied.assign(begin, begin + bytes);
    }
    inbox.arrived.insert(message.number, std::move(arrival));
    return to_fetch || may_stay ? UCS_INPROGRESS : UCS_OK;
  }

  void take(const Expected& expected, const void* data, std::size_t bytes) {
    if (bytes == expected.operation->bytes && bytes != 0) std::memcpy(expected.into, data, bytes);
    completions().finish(expected.operation, UCS_OK, bytes);
  }

  void fetch(const Expected& expected, void* descriptor, std::size_t bytes) {
    if (bytes != expected.operation->bytes) {
      ucp_am_data_release(worker(), descriptor);
      return completions().finish(expected.operation, UCS_OK, bytes);
    }
    ucp_request_param_t param = host_memory();
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = fetched;
    param.user_data = expected.operation;
    const ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(worker(), descriptor, expected.into, bytes, &param);
    Completions::settle(expected.operation, request);
  }

  static void fetched(void* request, ucs_status_t status, std::size_t bytes, void* data) {
    auto* const operation = static_cast<Operation*>(data);
    operation->owner->finish(operation, status, bytes);
    ucp_request_free(request);
  }

  std::vector<std::uint64_t> sent_;  ///< messages, by receiver and lane
  std::vector<Inbox> inboxes_;       ///< by sender and lane
};

}  // namespace

std::unique_ptr<Transport> make_am_transport(const RuntimeContext& context) {
  return std::make_unique<AmTransport>(context);
}

}  // namespace commtune::ucx
