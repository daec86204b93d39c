// Workload files (commtune.workload/1).
#include <sstream>

#include "dnn_proxy/workload.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  fuzz::accepts([&] {
    std::istringstream in{std::string(fuzz::text_of(data, size))};
    const Workload workload = parse_workload(in, "f");
    std::istringstream again(format_workload(workload));
    fuzz::expect(parse_workload(again, "f") == workload, "what is written reads the same");
    fuzz::accepts([&] { check_ranks_agree(workload); });
    fuzz::accepts([&] { select_steps(workload, 1, 1); });
    for (const auto& program : workload.programs)
      for (const WorkloadOp& op : program) describe(op);
  });
  return 0;
}
