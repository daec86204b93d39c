#include "core/error.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace commtune::ucx {

void check(ucs_status_t status, const char* call) {
  if (status == UCS_OK) return;
  fail(Errc::system,
       "{}: {}; UCX_TLS and UCX_NET_DEVICES choose what UCX uses, `ucx_info -d` shows it", call,
       ucs_status_string(status));
}

Worker::Worker() {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_TAG;
  params.name = "commtune";
  const ucs_status_t status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  check(status, "ucp_init");
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // One thread at a time, not always the same: see allgather_while_driving().
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

}  // namespace commtune::ucx
