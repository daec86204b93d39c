#include "microbench/choice.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "collectives/schedule/params.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

const Algorithm* find_named(Collective collective, std::string_view name) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective == collective && algorithm->name == name) return algorithm;
  }
  return nullptr;
}

Choice library_choice(BenchContext& context, const std::string& name) {
  const bool told = name.find('/') != std::string::npos;
  const std::string evidence = told ? "asked by name" : "the library's default";
  return {.asked = name,
          .algorithm = nullptr,
          .library = context.library(name),
          .params = {},
          .evidence = name == "native" ? "" : evidence,
          .skip = context.library_missing(name)};
}

Choice named_choice(Collective collective, const std::string& text) {
  const AlgorithmSpec spec = parse_algorithm_spec(text, "--algorithm");
  Choice choice{.asked = text,
                .algorithm = find_named(collective, spec.name),
                .library = nullptr,
                .params = {},
                .evidence = "asked by name",
                .skip = ""};
  if (choice.algorithm == nullptr) {
    choice.skip = fmt::format("{} has no algorithm '{}'", commtune::name(collective), spec.name);
    return choice;
  }
  try {
    choice.params = params_of(spec, *choice.algorithm, "--algorithm");
  } catch (const Error& error) {
    choice.skip = error.what();
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
           .library = nullptr,
           .params = selection.params,
           .evidence = selection.evidence,
           .skip = ""});
    } else if (name == "all") {
      for (const Algorithm* algorithm : algorithms()) {
        if (algorithm->collective == collective) {
          add(named_choice(collective, std::string(algorithm->name)));
        }
      }
      if (context.library("native") != nullptr) add(library_choice(context, "native"));
    } else if (names_library(name)) {
      add(library_choice(context, name));
    } else {
      add(named_choice(collective, name));
    }
  }
  return choices;
}

Json params_json(const Algorithm& algorithm, const Params& params) {
  Json object = Json::object();
  for (const auto& [knob, value] : values_of(params, algorithm.tunables)) {
    const bool number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (number) {
      object[std::string(knob)] = std::stoull(value);
    } else if (!value.empty()) {
      object[std::string(knob)] = value;
    }
  }
  return object;
}

void require_algorithm_name(std::string_view name, std::string_view what) {
  if (name == "auto" || name == "all" || names_library(name)) return;
  const AlgorithmSpec spec = parse_algorithm_spec(name, what);
  std::set<std::string_view> known;
  for (const Algorithm* algorithm : algorithms()) known.insert(algorithm->name);
  if (known.count(spec.name) == 0) {
    std::string names = fmt::format("auto, all, {}", library_names());
    for (const std::string_view each : known) names += fmt::format(", {}", each);
    fail(Errc::usage, "{} '{}': unknown algorithm; valid: {}", what, name, names);
  }
}

}  // namespace commtune
