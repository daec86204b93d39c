// Option texts with a grammar of their own: --bind, --algorithm, names, --platform.
#include <cmath>

#include "collectives/schedule/params.hpp"
#include "core/types.hpp"
#include "fuzz.hpp"
#include "transports/binding.hpp"
#include "transports/sim/platform_spec.hpp"
#include "tuning/openmpi/emit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  const std::string text(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const RankBinding binding = parse_binding(text);
    fuzz::expect((binding.kind == RankBinding::Kind::list) == !binding.processors.empty(),
                 "only lists have processors");
    fuzz::expect(binding.processors.size() <= 65536, "a list is no longer than any host needs");
  });
  fuzz::accepts([&] {
    const AlgorithmSpec spec = parse_algorithm_spec(text, "a");
    const Params params =
        params_of(spec, find_algorithm(Collective::allreduce, spec.name, "a"), "a");
    fuzz::expect(params.segments >= 1 && params.radix >= 1, "parameters are in their range");
  });
  fuzz::accepts([&] {
    const sim::PlatformSpec spec = sim::parse_platform(text);
    fuzz::expect(spec.hosts() >= 1 && spec.hosts() <= 1U << 20U, "a platform has 1 to 2^20 hosts");
    fuzz::expect(std::isfinite(spec.bandwidth) && spec.bandwidth > 0 &&
                     std::isfinite(spec.latency) && spec.latency > 0,
                 "bandwidth and latency are finite");
  });
  fuzz::accepts([&] { fuzz::expect(name(parse_collective(text, "a")) == text, "exact names"); });
  fuzz::accepts([&] { fuzz::expect(name(parse_data_type(text, "a")) == text, "exact names"); });
  fuzz::accepts([&] { fuzz::expect(name(parse_reduce_op(text, "a")) == text, "exact names"); });
  fuzz::accepts([&] { openmpi::parse_profile(text, "a"); });
  return 0;
}
