#include "collectives/schedule/params.hpp"
#include "core/error.hpp"
#include "dnn_proxy/replay_engine.hpp"

namespace commtune {
namespace {

/// What a name with parameters means for one collective; `why` says why not where it has no
/// algorithm, only what is wrong with the parameters.
struct Named {
  const Algorithm* algorithm = nullptr;
  Params params;
  std::string why;
};
Named find_named(Collective collective, const AlgorithmSpec& asked) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective != collective || algorithm->name != asked.name) continue;
    try {
      return {algorithm, params_of(asked, *algorithm, "--algorithm"), ""};
    } catch (const Error& error) {
      return {nullptr, {}, error.what()};
    }
  }
  return {};
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
    const Named named = find_named(spec.collective, asked);
    if (named.algorithm != nullptr) {
      return {name, asked.name, "asked by name", named.algorithm, named.params};
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
    const AlgorithmSpec asked = parse_algorithm_spec(name, "--algorithm");
    bool fits = false;
    std::string why;
    for (const CallSpec& spec : plan.calls) {
      const Named named = find_named(spec.collective, asked);
      fits = fits || named.algorithm != nullptr;
      if (!named.why.empty()) why = named.why;
    }
    require(fits || why.empty(), "{}", why);
    require(fits, "--algorithm '{}': no collective of this workload has such an algorithm", name);
  }
  std::vector<CallChoice> choices;
  for (const CallSpec& spec : plan.calls) choices.push_back(choose(spec, names, size, select));
  return choices;
}

}  // namespace commtune
