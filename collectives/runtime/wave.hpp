#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "collectives/runtime/program.hpp"
#include "devices/host/reduce.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// The kernels of one data type and operator.
struct Kernels {
  ReduceKernel reduce = nullptr;
  ManyReduceKernel reduce_many = nullptr;
  CopyKernel copy = nullptr;
};

/// What all waves of one operation share.
struct Binding {
  Binding(Transport& bound_transport, const Plan& bound_plan)
      : transport(bound_transport), plan(bound_plan) {}
  Transport& transport;
  const Plan& plan;
  std::vector<StepId> sends, recvs, roots;  ///< program order; roots are local steps without inputs
  Kernels kernels;                          ///< for results that another step reads
  Kernels kept_kernels;                     ///< for results that stay where they are
  unsigned element_shift = 0;               ///< log2 of the bytes of an element
  std::uint32_t send_window = 0, recv_window = 0;
  std::uint64_t local_bytes = 0;  ///< copied or reduced between two polls of the transport
  /// Where time is simulated: what a byte costs, for Transport::elapse(); `charged` says whether.
  bool charged = false;
  double copy_ns = 0, reduce_ns = 0;
};

/// One pass of a plan over one window of the buffers. Sends are issued in program order, and so are
/// receives, a bounded number at a time: any-ready issue with a bounded window deadlocks (ring from
/// 7 ranks on). Local steps run as soon as their inputs are there.
class Wave final : public Sink {
 public:
  Wave(const Binding&, Lane);
  /// Arms the wave; `bases` are the addresses of this window's input, output and scratch.
  void start(const Program&, std::array<std::byte*, 3> bases);
  /// Issues and runs what is ready without waiting. True once every step is finished.
  bool advance();
  bool active() const noexcept { return active_; }
  /// Disarms a finished wave.
  void release() noexcept { active_ = false; }

  void complete(std::uint32_t step) noexcept override;

 private:
  void issue_recvs();
  void issue_sends();
  /// Runs ready local steps until `budget` bytes are done.
  bool run_local(std::uint64_t& budget);
  void charge(const BoundStep&, std::uint64_t elements) const;
  void run_copies(const BoundStep& bound) const;
  void run_piece(const BoundStep&, std::uint64_t first, std::uint64_t count) const;
  void release_views(const BoundStep&);
  void retire(StepId step) noexcept;
  std::byte* at(const BoundOperand& operand) const noexcept {
    return bases_[static_cast<std::size_t>(operand.buffer)] + operand.offset;
  }
  const std::byte* source(const BoundOperand& operand) const noexcept {
    return operand.view == Operand::none ? at(operand) : views_[operand.view].data + operand.offset;
  }

  const Binding& binding_;
  const Lane lane_;
  const unsigned shift_;              ///< log2 of the bytes of an element
  const BoundStep* steps_ = nullptr;  ///< of the program that runs
  const BoundOperand* operands_ = nullptr;
  bool active_ = false;
  const std::uint32_t* const first_successor_;
  const StepId* const successors_;
  std::array<std::byte*, 3> bases_{};
  std::vector<std::uint16_t> waiting_for_;
  std::vector<StepId> ready_;  ///< local steps, a queue: [ready_head_, ready_.size())
  std::size_t ready_head_ = 0, next_send_ = 0, next_recv_ = 0, remaining_ = 0;
  std::uint64_t local_done_ = 0;  ///< elements of the local step at the head that are finished
  std::uint32_t sends_in_flight_ = 0, recvs_in_flight_ = 0;
  std::vector<View> views_;
  std::vector<std::uint32_t> view_readers_;  ///< steps that still read each view
};

}  // namespace commtune
