#include "transports/ucx/completions.hpp"

#include "core/error.hpp"

namespace commtune::ucx {

ucp_request_param_t host_memory() noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  return param;
}

Completions::Completions(Rank rank) : rank_(rank) {
  finished_.reserve(64);
  reporting_.reserve(64);
}

Operation* Completions::take(Rank peer, Lane lane, std::size_t bytes, Completion completion) {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<Operation>());
    free_.reserve(operations_.capacity());
    free_.push_back(operations_.back().get());
  }
  Operation* const operation = free_.back();
  free_.pop_back();
  *operation = {this, completion, bytes, peer, lane, {}};
  return operation;
}

void Completions::finish(Operation* operation, ucs_status_t status, std::size_t got) {
  if (problem_.empty() && (status != UCS_OK || got != operation->bytes)) {
    problem_ = mismatch(operation->peer, operation->lane, operation->bytes, got, status);
  }
  finished_.push_back(operation->completion);
  free_.push_back(operation);
}

std::string Completions::mismatch(Rank peer, Lane lane, std::size_t expected, std::size_t got,
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

std::size_t Completions::report() {
  if (!problem_.empty()) fail(Errc::peer, "{}", problem_);
  reporting_.swap(finished_);
  for (const Completion& each : reporting_) each.sink->complete(each.id);
  const std::size_t finished = reporting_.size();
  reporting_.clear();
  return finished;
}

void Completions::sent(void* request, ucs_status_t status, void* data) {
  auto* const operation = static_cast<Operation*>(data);
  operation->owner->finish(operation, status, operation->bytes);
  ucp_request_free(request);
}

ucp_request_param_t Completions::told_by_sent(Operation* operation) noexcept {
  ucp_request_param_t param = host_memory();
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = sent;
  param.user_data = operation;
  return param;
}

void Completions::settle(Operation* operation, ucs_status_ptr_t request) {
  if (UCS_PTR_IS_PTR(request)) return;
  operation->owner->finish(operation, UCS_PTR_RAW_STATUS(request), operation->bytes);
}

}  // namespace commtune::ucx
