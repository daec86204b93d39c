#include "microbench/choice.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace commtune {
namespace {

const Algorithm* find_named(Collective collective, std::string_view name) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective == collective && algorithm->name == name) return algorithm;
  }
  return nullptr;
}

Choice native_choice(BenchContext& context) {
  Choice choice{.asked = "native", .algorithm = nullptr, .params = {}, .evidence = "", .skip = ""};
  if (context.library() == nullptr) choice.skip = context.library_missing();
  return choice;
}

Choice named_choice(Collective collective, const std::string& name) {
  Choice choice{.asked = name,
                .algorithm = find_named(collective, name),
                .params = {},
                .evidence = "asked by name",
                .skip = ""};
  if (choice.algorithm == nullptr) {
    choice.skip = fmt::format("{} has no algorithm '{}'", commtune::name(collective), name);
  }
  return choice;
}

}  // namespace

std::vector<Choice> choose(BenchContext& context, Collective collective, std::uint64_t bytes) {
  std::vector<Choice> choices;
  const auto add = [&choices](Choice choice) {
    const auto same = [&choice](const Choice& other) { return other.asked == choice.asked; };
    if (std::none_of(choices.begin(), choices.end(), same)) choices.push_back(std::move(choice));
  };
  for (const std::string& name : context.options().algorithms) {
    if (name == "auto") {
      const Selection selection = context.select(collective, bytes);
      add({.asked = "auto",
           .algorithm = selection.algorithm,
           .params = selection.params,
           .evidence = selection.evidence,
           .skip = ""});
    } else if (name == "all") {
      for (const Algorithm* algorithm : algorithms()) {
        if (algorithm->collective == collective) {
          add(named_choice(collective, std::string(algorithm->name)));
        }
      }
      if (context.library() != nullptr) add(native_choice(context));
    } else if (name == "native") {
      add(native_choice(context));
    } else {
      add(named_choice(collective, name));
    }
  }
  return choices;
}

Json params_json(const Algorithm& algorithm, const Params& params) {
  Json object = Json::object();
  if (algorithm.tunables.find("segments") != std::string_view::npos) {
    object["segments"] = params.segments;
  }
  if (algorithm.tunables.find("radix") != std::string_view::npos) object["radix"] = params.radix;
  return object;
}

void require_algorithm_name(std::string_view name, std::string_view what) {
  if (name == "auto" || name == "all" || name == "native") return;
  std::set<std::string_view> known;
  for (const Algorithm* algorithm : algorithms()) known.insert(algorithm->name);
  if (known.count(name) != 0) return;
  std::string names = "auto, all, native";
  for (const std::string_view each : known) names += fmt::format(", {}", each);
  fail(Errc::usage, "{} '{}': unknown algorithm; valid: {}", what, name, names);
}

}  // namespace commtune
