#include "collectives/libraries/gloo/operations.hpp"

#include <functional>
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/types.h>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace commtune {
namespace {

using GlooReduce = void (*)(void*, const void*, const void*, std::size_t);

template <class T>
GlooReduce reduce_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return gloo::sum<T>;
    case ReduceOp::prod:
      return gloo::product<T>;
    case ReduceOp::min:
      return gloo::min<T>;
    case ReduceOp::max:
      return gloo::max<T>;
    case ReduceOp::avg:
      break;
  }
  return nullptr;
}

/// Null where Gloo has no such type or operator.
GlooReduce reduce_of(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::int8:
      return reduce_of<std::int8_t>(op);
    case DataType::int16:
      return reduce_of<std::int16_t>(op);
    case DataType::int32:
      return reduce_of<std::int32_t>(op);
    case DataType::int64:
      return reduce_of<std::int64_t>(op);
    case DataType::uint8:
      return reduce_of<std::uint8_t>(op);
    case DataType::float16:
      return reduce_of<gloo::float16>(op);
    case DataType::float32:
      return reduce_of<float>(op);
    case DataType::float64:
      return reduce_of<double>(op);
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      break;
  }
  return nullptr;
}

/// An operation that runs a prepared set of options; they hold the buffers and are used again.
template <class Options>
class GlooOperation final : public Operation {
 public:
  using Run = void (*)(Options&);
  GlooOperation(Options options, Run collective, std::vector<std::byte> scratch = {})
      : scratch_(std::move(scratch)), options_(std::move(options)), run_(collective) {}

  void start() override {
    try {
      run_(options_);
    } catch (const std::exception& error) {
      fail(Errc::peer, "gloo: {}", error.what());
    }
  }
  bool progress() override { return true; }
  void run() override { start(); }

 private:
  std::vector<std::byte> scratch_;  ///< behind a buffer that Gloo wants and the caller has not
  Options options_;
  Run run_;
};

/// A call that moves nothing; Gloo refuses vectors without elements.
class NoOperation final : public Operation {
 public:
  void start() override {}
  bool progress() override { return true; }
  void run() override {}
};

template <class Options>
std::unique_ptr<Operation> make(Options options, void (*run)(Options&),
                                std::vector<std::byte> scratch = {}) {
  return std::make_unique<GlooOperation<Options>>(std::move(options), run, std::move(scratch));
}

/// Builds the options of each collective from one call. Data is passed as bytes wherever Gloo does
/// not look into it.
class Builder {
 public:
  Builder(std::shared_ptr<gloo::Context> context, const Call& call, GlooAlgorithm algorithm)
      : context_(std::move(context)),
        call_(call),
        algorithm_(algorithm),
        input_(const_cast<char*>(reinterpret_cast<const char*>(call.input.data()))),
        output_(reinterpret_cast<char*>(call.output.data())) {}

  std::unique_ptr<Operation> allreduce() const {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(algorithm_);
    options.setReduceFunction(reduce_of(call_.type, call_.op));
    by_element([&]<class T>(T*) {
      if (!call_.in_place) options.setInput(reinterpret_cast<T*>(input_), call_.count);
      options.setOutput(reinterpret_cast<T*>(output_), call_.count);
    });
    return make<gloo::AllreduceOptions>(std::move(options),
                                        [](gloo::AllreduceOptions& o) { gloo::allreduce(o); });
  }
  std::unique_ptr<Operation> reduce() const {
    // Gloo collects partial results in the output of every rank.
    std::vector<std::byte> scratch(is_root() ? 0 : input_bytes());
    char* const output = is_root() ? output_ : reinterpret_cast<char*>(scratch.data());
    gloo::ReduceOptions options(context_);
    options.setRoot(call_.root);
    options.setReduceFunction(reduce_of(call_.type, call_.op));
    by_element([&]<class T>(T*) {
      if (!call_.in_place || !is_root()) {
        options.setInput(reinterpret_cast<T*>(input_), call_.count);
      }
      options.setOutput(reinterpret_cast<T*>(output), call_.count);
    });
    return make<gloo::ReduceOptions>(std::move(options), gloo::reduce, std::move(scratch));
  }
  std::unique_ptr<Operation> broadcast() const {
    gloo::BroadcastOptions options(context_);
    options.setRoot(call_.root);
    options.setOutput(is_root() ? input_ : output_, call_.count * element());
    return make<gloo::BroadcastOptions>(std::move(options), gloo::broadcast);
  }
  std::unique_ptr<Operation> allgather() const {
    if (!call_.counts.empty()) return allgatherv();
    gloo::AllgatherOptions options(context_);
    if (!call_.in_place) options.setInput(input_, call_.count * element());
    options.setOutput(output_, call_.count * element() * ranks());
    return make<gloo::AllgatherOptions>(std::move(options), gloo::allgather);
  }
  std::unique_ptr<Operation> alltoall() const {
    if (!call_.counts.empty()) return alltoallv();
    gloo::AlltoallOptions options(context_);
    options.setInput(input_, call_.count * element() * ranks());
    options.setOutput(output_, call_.count * element() * ranks());
    return make<gloo::AlltoallOptions>(std::move(options), gloo::alltoall);
  }
  std::unique_ptr<Operation> gather() const {
    gloo::GatherOptions options(context_);
    options.setRoot(call_.root);
    options.setInput(input_, call_.count * element());
    if (is_root()) options.setOutput(output_, call_.count * element() * ranks());
    return make<gloo::GatherOptions>(std::move(options), gloo::gather);
  }
  std::unique_ptr<Operation> scatter() const {
    gloo::ScatterOptions options(context_);
    options.setRoot(call_.root);
    const std::size_t part = call_.count * element();
    std::vector<char*> parts;
    for (std::size_t r = 0; is_root() && r < ranks(); ++r) parts.push_back(input_ + r * part);
    if (is_root()) options.setInputs(parts, part);
    options.setOutput(output_, part);
    return make<gloo::ScatterOptions>(std::move(options), gloo::scatter);
  }
  std::unique_ptr<Operation> barrier() const {
    return make<gloo::BarrierOptions>(gloo::BarrierOptions(context_), gloo::barrier);
  }

 private:
  std::unique_ptr<Operation> allgatherv() const {
    gloo::AllgathervOptions options(context_);
    std::vector<std::size_t> bytes;
    for (const std::uint64_t count : call_.counts) bytes.push_back(count * element());
    if (!call_.in_place) options.setInput(input_, bytes[me()]);
    options.setOutput(output_, bytes);
    return make<gloo::AllgathervOptions>(std::move(options), gloo::allgatherv);
  }
  std::unique_ptr<Operation> alltoallv() const {
    gloo::AlltoallvOptions options(context_);
    std::vector<std::int64_t> sent, received;
    for (std::size_t r = 0; r < ranks(); ++r) {
      sent.push_back(static_cast<std::int64_t>(call_.counts[me() * ranks() + r] * element()));
      received.push_back(static_cast<std::int64_t>(call_.counts[r * ranks() + me()] * element()));
    }
    options.setInput(input_, sent);
    options.setOutput(output_, received);
    return make<gloo::AlltoallvOptions>(std::move(options), gloo::alltoallv);
  }

  std::size_t element() const noexcept { return size_of(call_.type); }
  std::size_t ranks() const noexcept { return static_cast<std::size_t>(context_->size); }
  std::size_t me() const noexcept { return static_cast<std::size_t>(context_->rank); }
  bool is_root() const noexcept { return call_.root == context_->rank; }
  std::size_t input_bytes() const noexcept { return call_.count * element(); }

  /// Gloo takes the size of an element from a pointer's type.
  template <class Visit>
  void by_element(Visit visit) const {
    switch (element()) {
      case 1:
        return visit(static_cast<std::uint8_t*>(nullptr));
      case 2:
        return visit(static_cast<std::uint16_t*>(nullptr));
      case 4:
        return visit(static_cast<std::uint32_t*>(nullptr));
      default:
        return visit(static_cast<std::uint64_t*>(nullptr));
    }
  }

  std::shared_ptr<gloo::Context> context_;
  const Call& call_;
  GlooAlgorithm algorithm_;
  char* input_;
  char* output_;
};

bool moves_nothing(const Call& call) {
  if (call.collective == Collective::barrier) return false;
  if (call.counts.empty()) return call.count == 0;
  return std::accumulate(call.counts.begin(), call.counts.end(), std::uint64_t{0}) == 0;
}

/// Empty when Gloo has the collective, with parts and in place as asked.
std::string missing_form(const Call& call) {
  const bool uneven = !call.counts.empty();
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::allgather:
    case Collective::barrier:
      return "";
    case Collective::alltoall:
      return call.in_place ? "gloo has no alltoall in place" : "";
    case Collective::gather:
    case Collective::scatter:
      if (uneven) return fmt::format("gloo has no {} of uneven parts", name(call.collective));
      if (call.in_place) return fmt::format("gloo has no {} in place", name(call.collective));
      return "";
    case Collective::reduce_scatter:
      return "gloo has no reduce_scatter that leaves its input alone";
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
      break;
  }
  return fmt::format("gloo has no {}", name(call.collective));
}

}  // namespace

std::string gloo_unsupported(const Call& call, GlooAlgorithm algorithm) {
  if (std::string missing = missing_form(call); !missing.empty()) return missing;
  if (algorithm != GlooAlgorithm::UNSPECIFIED && call.collective != Collective::allreduce) {
    return fmt::format("gloo has one algorithm of {} only; use gloo", name(call.collective));
  }
  if (!reduces(call.collective) || reduce_of(call.type, call.op) != nullptr) return "";
  if (call.op == ReduceOp::avg) return "gloo has no reduction avg; use sum";
  return fmt::format("gloo cannot reduce {}", name(call.type));
}

std::unique_ptr<Operation> gloo_operation(std::shared_ptr<gloo::Context> context, const Call& call,
                                          GlooAlgorithm algorithm) {
  if (moves_nothing(call)) return std::make_unique<NoOperation>();
  const Builder build(std::move(context), call, algorithm);
  switch (call.collective) {
    case Collective::allreduce:
      return build.allreduce();
    case Collective::reduce:
      return build.reduce();
    case Collective::broadcast:
      return build.broadcast();
    case Collective::allgather:
      return build.allgather();
    case Collective::alltoall:
      return build.alltoall();
    case Collective::gather:
      return build.gather();
    case Collective::scatter:
      return build.scatter();
    case Collective::barrier:
      return build.barrier();
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
    case Collective::sendrecv:
      break;
  }
  fail(Errc::usage, "{}", gloo_unsupported(call, algorithm));
}

}  // namespace commtune
