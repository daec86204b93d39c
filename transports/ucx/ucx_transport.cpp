#include "transports/ucx/ucx_transport.hpp"

#include <sched.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "transports/drive.hpp"

namespace commtune::ucx {
namespace {

constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

ucp_tag_t tag_of(Rank sender, Lane lane) noexcept {
  return ucp_tag_t{lane} << 32U | static_cast<std::uint32_t>(sender);
}

/// What all operations have in common. Telling the memory's type saves UCX a look-up.
ucp_request_param_t host_memory() noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  return param;
}

}  // namespace

UcxTransport::UcxTransport(const RuntimeContext& context)
    : bootstrap_(context.bootstrap),
      health_(context.health),
      rank_(context.bootstrap.rank()),
      size_(context.bootstrap.size()),
      crowded_(context.crowded),
      addresses_(allgather_string(bootstrap_, worker_.address())),
      endpoints_(addresses_.size()) {
  finished_.reserve(64);
  reporting_.reserve(64);
}

UcxTransport::~UcxTransport() {
  try {
    // A rank that fails must not wait for others that wait for it.
    if (std::uncaught_exceptions() == exceptions_ && !health_.failed()) leave();
  } catch (const std::exception&) {  // the job's failure is told elsewhere
  }
}

/// Everything posted has completed here, but a peer may still fetch what was sent.
void UcxTransport::leave() {
  constexpr double limit_s = 5;
  std::vector<ucs_status_ptr_t> closing;
  for (ucp_ep_h& each : endpoints_) {
    if (each == nullptr) continue;
    ucp_request_param_t param{};  // flushes first
    const ucs_status_ptr_t request = ucp_ep_close_nbx(each, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
  }
  const std::int64_t begin = monotonic_ns();
  while (!closing.empty() && !health_.failed() &&
         static_cast<double>(monotonic_ns() - begin) * 1e-9 < limit_s) {
    ucp_worker_progress(worker_.handle());
    if (ucp_request_check_status(closing.back()) == UCS_INPROGRESS) continue;
    ucp_request_free(closing.back());
    closing.pop_back();
  }
  const std::byte here{1};
  std::vector<std::byte> all(addresses_.size());
  allgather_while_driving(bootstrap_, {&here, 1}, all,
                          [this] { ucp_worker_progress(worker_.handle()); });
}

inline void UcxTransport::check_arguments(Rank peer, Lane lane) const {
  if (peer < 0 || peer >= size_ || peer == rank_ || lane >= lane_count) refuse(peer, lane);
}

void UcxTransport::refuse(Rank peer, Lane lane) const {
  require(peer >= 0 && peer < size_, "rank {} is not one of the {} ranks", peer, size_);
  require(peer != rank_, "rank {} cannot send to or receive from itself", rank_);
  fail(Errc::usage, "lane {} is not one of the {} lanes", lane, lane_count);
}

// Error handling of UCX endpoints is off: with it UCX 1.13 gives up shared memory and takes TCP. A
// rank that is lost is learnt from the job's health.
ucp_ep_h UcxTransport::endpoint(Rank to) {
  ucp_ep_h& known = endpoints_[static_cast<std::size_t>(to)];
  if (known != nullptr) return known;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address =
      reinterpret_cast<const ucp_address_t*>(addresses_[static_cast<std::size_t>(to)].data());
  params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
  check(ucp_ep_create(worker_.handle(), &params, &known), "ucp_ep_create");
  return known;
}

UcxTransport::Operation* UcxTransport::take_operation(Rank peer, Lane lane, std::size_t bytes,
                                                      Completion completion) {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<Operation>());
    free_.reserve(operations_.capacity());
    free_.push_back(operations_.back().get());
  }
  Operation* const operation = free_.back();
  free_.pop_back();
  *operation = {this, completion, bytes, peer, lane};
  return operation;
}

void UcxTransport::finish(Operation* operation, ucs_status_t status, std::size_t got) {
  if (problem_.empty() && (status != UCS_OK || got != operation->bytes)) {
    problem_ = mismatch(operation->peer, operation->lane, operation->bytes, got, status);
  }
  finished_.push_back(operation->completion);
  free_.push_back(operation);
}

std::string UcxTransport::mismatch(Rank peer, Lane lane, std::size_t expected, std::size_t got,
                                   ucs_status_t status) const {
  if (status != UCS_OK && status != UCS_ERR_MESSAGE_TRUNCATED) {
    return fmt::format("a transfer of {} bytes between rank {} and rank {} on lane {} failed: {}",
                       expected, peer, rank_, lane, ucs_status_string(status));
  }
  const std::string sent =
      got != expected ? std::to_string(got) : fmt::format("more than {}", expected);
  return fmt::format("rank {} sent {} bytes to rank {}, which expected {} bytes, on lane {}", peer,
                     sent, rank_, expected, lane);
}

void UcxTransport::sent(void* request, ucs_status_t status, void* data) {
  auto* const operation = static_cast<Operation*>(data);
  operation->transport->finish(operation, status, operation->bytes);
  ucp_request_free(request);
}

void UcxTransport::received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                            void* data) {
  auto* const operation = static_cast<Operation*>(data);
  operation->transport->finish(operation, status, info->length);
  ucp_request_free(request);
}

void UcxTransport::post_send(Rank to, Lane lane, std::span<const std::byte> data,
                             Completion completion) {
  check_arguments(to, lane);
  Operation* const operation = take_operation(to, lane, data.size(), completion);
  ucp_request_param_t param = host_memory();
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = sent;
  param.user_data = operation;
  const ucs_status_ptr_t request =
      ucp_tag_send_nbx(endpoint(to), data.data(), data.size(), tag_of(rank_, lane), &param);
  if (!UCS_PTR_IS_PTR(request)) finish(operation, UCS_PTR_RAW_STATUS(request), data.size());
}

void UcxTransport::post_recv(Rank from, Lane lane, std::span<std::byte> data,
                             Completion completion) {
  check_arguments(from, lane);
  Operation* const operation = take_operation(from, lane, data.size(), completion);
  ucp_request_param_t param = host_memory();
  // The callback alone tells the length of a message that was there already.
  param.op_attr_mask |=
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = received;
  param.user_data = operation;
  const ucs_status_ptr_t request = ucp_tag_recv_nbx(worker_.handle(), data.data(), data.size(),
                                                    tag_of(from, lane), whole_tag, &param);
  if (UCS_PTR_IS_ERR(request)) finish(operation, UCS_PTR_RAW_STATUS(request), 0);
}

std::size_t UcxTransport::poll() {
  ucp_worker_progress(worker_.handle());
  if (finished_.empty()) {
    idle();
    return 0;
  }
  if (!problem_.empty()) fail(Errc::peer, "{}", problem_);
  idle_polls_ = 0;
  reporting_.swap(finished_);
  for (const Completion& each : reporting_) each.sink->complete(each.id);
  const std::size_t finished = reporting_.size();
  reporting_.clear();
  return finished;
}

inline void UcxTransport::idle() {
  constexpr std::uint32_t asked_every = 1024;
  if (++idle_polls_ % asked_every == 0) health_.throw_if_failed();
}

void UcxTransport::progress_once(int& idle_rounds) {
  constexpr int short_spin = 100;
  if (ucp_worker_progress(worker_.handle()) != 0) return;
  idle();
  if (crowded_ && ++idle_rounds > short_spin) sched_yield();
}

void UcxTransport::send(Rank to, std::span<const std::byte> data) {
  check_arguments(to, 0);
  const ucp_request_param_t param = host_memory();
  const ucs_status_ptr_t request =
      ucp_tag_send_nbx(endpoint(to), data.data(), data.size(), tag_of(rank_, 0), &param);
  if (!UCS_PTR_IS_PTR(request)) return check(UCS_PTR_RAW_STATUS(request), "ucp_tag_send_nbx");
  int idle_rounds = 0;
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) progress_once(idle_rounds);
  ucp_request_free(request);
  check(status, "ucp_tag_send_nbx");
}

namespace {

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

}  // namespace

void UcxTransport::recv(Rank from, std::span<std::byte> data) {
  check_arguments(from, 0);
  Arrival arrival;
  ucp_request_param_t param = host_memory();
  param.op_attr_mask |=
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = Arrival::note;
  param.user_data = &arrival;
  const ucs_status_ptr_t request = ucp_tag_recv_nbx(worker_.handle(), data.data(), data.size(),
                                                    tag_of(from, 0), whole_tag, &param);
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_RAW_STATUS(request), "ucp_tag_recv_nbx");
  int idle_rounds = 0;
  while (!arrival.done) progress_once(idle_rounds);
  if (arrival.status != UCS_OK || arrival.bytes != data.size()) {
    fail(Errc::peer, "{}", mismatch(from, 0, data.size(), arrival.bytes, arrival.status));
  }
}

}  // namespace commtune::ucx
