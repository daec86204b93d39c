#include "collectives/schedule/params.hpp"
#include "core/error.hpp"
#include "dnn_proxy/replay_engine.hpp"

namespace commtune {
namespace {

const Algorithm* find_named(Collective collective, std::string_view algorithm_name) {
  for (const Algorithm* algorithm : algorithms())
    if (algorithm->collective == collective && algorithm->name == algorithm_name) return algorithm;
  return nullptr;
}

CallChoice choose_auto(const CallSpec& spec, Rank size, const SelectAlgorithm& select) {
  const Selection selection = select
                                  ? select(spec.collective, size, bytes_per_rank(spec), spec.dtype)
                                  : select_built_in(spec.collective, size, bytes_per_rank(spec));
  return {"auto", std::string(selection.algorithm->name), selection.evidence, selection.algorithm,
          selection.params};
}

CallChoice choose(const CallSpec& spec, const std::vector<std::string>& names, Rank size,
                  const SelectAlgorithm& select) {
  for (const std::string& name : names) {
    if (name == "auto") break;
    if (name == "native") return {"native", "native", "the library's own choice", nullptr, {}};
    const AlgorithmSpec asked = parse_algorithm_spec(name, "--algorithm");
    if (const Algorithm* algorithm = find_named(spec.collective, asked.name)) {
      return {name, asked.name, "asked by name", algorithm,
              params_of(asked, *algorithm, "--algorithm")};
    }
  }
  return choose_auto(spec, size, select);
}

}  // namespace

std::vector<CallChoice> choose_algorithms(const ReplayPlan& plan,
                                          const std::vector<std::string>& names, Rank size,
                                          const SelectAlgorithm& select) {
  for (const std::string& name : names) {
    if (name == "auto" || name == "native") continue;
    require(name != "all", "--algorithm all: a replay runs one algorithm per collective");
    const std::string asked = parse_algorithm_spec(name, "--algorithm").name;
    bool fits = false;
    for (const CallSpec& spec : plan.calls)
      fits = fits || find_named(spec.collective, asked) != nullptr;
    require(fits, "--algorithm '{}': no collective of this workload has such an algorithm", name);
  }
  std::vector<CallChoice> choices;
  for (const CallSpec& spec : plan.calls) choices.push_back(choose(spec, names, size, select));
  return choices;
}

}  // namespace commtune
