// Captured runs: a JSON array with {"hook": ..., "events": ...} of each rank.
#include "core/json.hpp"
#include "dnn_proxy/importers/captured_run.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune;
  fuzz::accepts([&] {
    const Json files = parse_json(fuzz::text_of(data, size), "f");
    require(files.is_array() && !files.empty() && files.size() <= 4, "no ranks");
    CapturedRun run{"model", "f", {}};
    for (const Json& rank : files) {
      require(rank.is_object() && rank.contains("hook"), "no hook file");
      const Json* const events = rank.contains("events") ? &rank["events"] : nullptr;
      run.ranks.push_back(captured_rank(rank["hook"], run.ranks.size(), "hook", events, "events"));
    }
    const Import import = import_captured_run(run, "f");
    fuzz::expect(import.conservation.conserved(), "nothing is lost");
    fuzz::expect(!format_workload(import.workload).empty(), "an imported workload can be written");
  });
  return 0;
}
