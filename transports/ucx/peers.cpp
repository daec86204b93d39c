#include "transports/ucx/peers.hpp"

#include "core/error.hpp"

namespace commtune::ucx {

void check(ucs_status_t status, const char* call) {
  if (status == UCS_OK) return;
  fail(Errc::system,
       "{}: {}; UCX_TLS and UCX_NET_DEVICES choose what UCX uses, `ucx_info -d` shows it", call,
       ucs_status_string(status));
}

namespace {

ucp_context_h open_context(std::uint64_t features) {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = features;
  params.name = "commtune";
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  check(status, "ucp_init");
  return context;
}

}  // namespace

Worker::Worker(std::uint64_t features) : context_(open_context(features)) {
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // One thread at a time, not always the same: Capabilities::any_thread.
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const ucs_status_t created = ucp_worker_create(context_, &worker, &worker_);
  if (created != UCS_OK) ucp_cleanup(context_);
  check(created, "ucp_worker_create");
}

Worker::~Worker() {
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

std::string Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  check(ucp_worker_get_address(worker_, &address, &bytes), "ucp_worker_get_address");
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return text;
}

Peers::Peers(Bootstrap& bootstrap, std::uint64_t features)
    : worker_(features),
      addresses_(allgather_string(bootstrap, worker_.address())),
      endpoints_(addresses_.size()) {}

// Error handling of UCX endpoints is off: with it UCX 1.13 gives up shared memory and takes TCP. A
// rank that is lost is learnt from the job's health.
ucp_ep_h Peers::endpoint(Rank to) {
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

void Peers::close(std::vector<ucs_status_ptr_t>& closing) {
  for (ucp_ep_h& each : endpoints_) {
    if (each == nullptr) continue;
    ucp_request_param_t param{};  // flushes first
    const ucs_status_ptr_t request = ucp_ep_close_nbx(each, &param);
    each = nullptr;
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
  }
}

std::vector<std::string> memory_types() {
  const ucp_context_h context = open_context(UCP_FEATURE_TAG);
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  const ucs_status_t status = ucp_context_query(context, &attributes);
  ucp_cleanup(context);
  check(status, "ucp_context_query");
  std::vector<std::string> names;
  for (int type = 0; type < UCS_MEMORY_TYPE_LAST; ++type) {
    if ((attributes.memory_types & UCS_BIT(type)) != 0) {
      names.emplace_back(ucs_memory_type_names[type]);
    }
  }
  return names;
}

}  // namespace commtune::ucx
