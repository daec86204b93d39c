#include "core/error.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace commtune::ucx {
namespace {

constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

ucp_tag_t tag_of(Rank sender, Lane lane) noexcept {
  return ucp_tag_t{lane} << 32U | static_cast<std::uint32_t>(sender);
}

/// Receives are told by their callback alone: nothing else has the length of a message that was
/// there already.
ucp_request_param_t told_by(ucp_tag_recv_nbx_callback_t callback, void* user_data) noexcept {
  ucp_request_param_t param = host_memory();
  param.op_attr_mask |=
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = callback;
  param.user_data = user_data;
  return param;
}

void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* data) {
  auto* const operation = static_cast<Operation*>(data);
  operation->owner->finish(operation, status, info->length);
  ucp_request_free(request);
}

/// A receive that somebody waits for.
struct Arrival {
  bool done = false;
  ucs_status_t status = UCS_OK;
  std::size_t bytes = 0;
  static void note(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                   void* arrival) {
    *static_cast<Arrival*>(arrival) = {true, status, info->length};
    ucp_request_free(request);
  }
};

class TagTransport final : public UcxTransport {
 public:
  explicit TagTransport(const RuntimeContext& context) : UcxTransport(context, UCP_FEATURE_TAG) {}
  ~TagTransport() override { leave(); }

  void post_send(Rank to, Lane lane, std::span<const std::byte> data,
                 Completion completion) override {
    check_arguments(to, lane);
    Operation* const operation = completions().take(to, lane, data.size(), completion);
    const ucp_request_param_t param = Completions::told_by_sent(operation);
    Completions::settle(operation, ucp_tag_send_nbx(endpoint(to), data.data(), data.size(),
                                                    tag_of(rank(), lane), &param));
  }

  void post_recv(Rank from, Lane lane, std::span<std::byte> data, Completion completion) override {
    check_arguments(from, lane);
    Operation* const operation = completions().take(from, lane, data.size(), completion);
    const ucp_request_param_t param = told_by(received, operation);
    const ucs_status_ptr_t request =
        ucp_tag_recv_nbx(worker(), data.data(), data.size(), tag_of(from, lane), whole_tag, &param);
    if (UCS_PTR_IS_ERR(request)) completions().finish(operation, UCS_PTR_RAW_STATUS(request), 0);
  }

  void send(Rank to, std::span<const std::byte> data) override {
    check_arguments(to, 0);
    const ucp_request_param_t param = host_memory();
    const ucs_status_ptr_t request =
        ucp_tag_send_nbx(endpoint(to), data.data(), data.size(), tag_of(rank(), 0), &param);
    if (!UCS_PTR_IS_PTR(request)) return check(UCS_PTR_RAW_STATUS(request), "ucp_tag_send_nbx");
    int idle_rounds = 0;
    ucs_status_t status = UCS_INPROGRESS;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
      progress_once(idle_rounds);
    }
    ucp_request_free(request);
    check(status, "ucp_tag_send_nbx");
  }

  void recv(Rank from, std::span<std::byte> data) override {
    check_arguments(from, 0);
    Arrival arrival;
    const ucp_request_param_t param = told_by(Arrival::note, &arrival);
    const ucs_status_ptr_t request =
        ucp_tag_recv_nbx(worker(), data.data(), data.size(), tag_of(from, 0), whole_tag, &param);
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_RAW_STATUS(request), "ucp_tag_recv_nbx");
    int idle_rounds = 0;
    while (!arrival.done) progress_once(idle_rounds);
    if (arrival.status != UCS_OK || arrival.bytes != data.size()) {
      fail(Errc::peer, "{}",
           completions().mismatch(from, 0, data.size(), arrival.bytes, arrival.status));
    }
  }
};

}  // namespace

std::unique_ptr<Transport> make_tag_transport(const RuntimeContext& context) {
  return std::make_unique<TagTransport>(context);
}

}  // namespace commtune::ucx
