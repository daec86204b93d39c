#include <cstdio>
#include <memory>

#include "collectives/schedule/algorithm.hpp"
#include "collectives/schedule/params.hpp"
#include "collectives/schedule/verify.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/types.hpp"
#include "dnn_proxy/importers/importer.hpp"
#include "microbench/benchmark.hpp"
#include "microbench/choice.hpp"
#include "transports/job.hpp"

namespace commtune {
namespace {

struct ListArguments {
  std::string what;
  bool json = false;
};

Json item(std::string_view name, std::string_view summary) {
  return {{"name", name}, {"summary", summary}};
}

Json list_tests() {
  Json items = Json::array();
  for (const Benchmark* benchmark : benchmarks()) {
    Json entry = item(benchmark->name, benchmark->summary);
    entry["sizes"] = benchmark->default_sizes;
    entry["collective"] = benchmark->collective ? Json(name(*benchmark->collective)) : Json();
    entry["ranks"] = minimum_ranks(*benchmark);
    items.push_back(std::move(entry));
  }
  return items;
}

Json list_collectives() {
  Json items = Json::array();
  for (const Collective collective : all_collectives()) {
    std::string names;
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->collective != collective) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm->name);
    }
    items.push_back(item(name(collective), names));
  }
  return items;
}

/// An algorithm that is named by no default is chosen by the one that runs it: "".
Json default_parameters(const Algorithm& algorithm) {
  Json object = params_json(algorithm, Params{});
  for (const auto& [knob, value] : values_of(Params{}, algorithm.tunables)) {
    if (value.empty()) object[std::string(knob)] = "";
  }
  return object;
}

/// The small numbers of ranks that the algorithm refuses with its default parameters.
Json refusals(const Algorithm& algorithm) {
  constexpr Rank most_ranks = 16;
  Json refused = Json::array();
  for (Rank ranks = 1; ranks <= most_ranks; ++ranks) {
    const std::string reason = refusal(algorithm, Shape{.size = ranks}, Params{});
    if (!reason.empty()) refused.push_back({{"ranks", ranks}, {"reason", reason}});
  }
  return refused;
}

/// What a proof at 5 ranks finds out, or at the smallest number of at least 3 that is not refused;
/// null where nothing is combined.
Json keeps_rank_order(const Algorithm& algorithm) {
  constexpr Rank most_ranks = 64;
  if (!reduces(algorithm.collective)) return nullptr;
  Shape shape{.size = 5};
  if (!refusal(algorithm, shape, Params{}).empty()) shape.size = 3;
  while (shape.size <= most_ranks && !refusal(algorithm, shape, Params{}).empty()) ++shape.size;
  if (shape.size > most_ranks) return nullptr;
  Facts facts;
  const bool proved = !verify(algorithm, shape, Params{}, &facts);
  return proved ? Json(facts.keeps_order) : Json(nullptr);
}

Json list_algorithms() {
  Json items = Json::array();
  for (const Algorithm* algorithm : algorithms()) {
    Json entry = item(fmt::format("{}/{}", name(algorithm->collective), algorithm->name),
                      algorithm->summary);
    entry["collective"] = name(algorithm->collective);
    entry["algorithm"] = algorithm->name;
    entry["tunables"] = Json::array();
    for (const auto& [knob, value] : values_of(Params{}, algorithm->tunables)) {
      entry["tunables"].push_back(knob);
    }
    entry["parameters"] = default_parameters(*algorithm);
    entry["cost"] = algorithm->cost;
    entry["needs"] = algorithm->needs;
    entry["refused_at"] = refusals(*algorithm);
    entry["keeps_rank_order"] = keeps_rank_order(*algorithm);
    items.push_back(std::move(entry));
  }
  return items;
}

Json list_transports() {
  Json items = Json::array();
  for (const TransportInfo& transport : transports()) {
    Json entry = item(transport.name, transport.summary);
    entry["available"] = transport.available;
    entry["reason"] = transport.reason;
    items.push_back(std::move(entry));
  }
  return items;
}

Json list_devices() {
  Json items = Json::array();
  Json host = item("host", "main memory and the processors of the node");
  host["available"] = true;
  items.push_back(std::move(host));
  Json cuda = item("cuda", "not in this build");
  cuda["available"] = false;
  items.push_back(std::move(cuda));
  return items;
}

Json list_formats() {
  Json items = Json::array();
  for (const Importer* importer : importers()) {
    Json entry = item(importer->name, importer->summary);
    entry["kind"] = "trace";
    items.push_back(std::move(entry));
  }
  const auto report = [&items](std::string_view name, std::string_view summary) {
    Json entry = item(name, summary);
    entry["kind"] = "report";
    items.push_back(std::move(entry));
  };
  report("table", "rows for people");
  report("osu", "columns as OSU Micro-Benchmarks print them");
  report("csv", "one line per row after a header line");
  report("json", "the whole commtune.result/1 document");
  return items;
}

Json list_dtypes() {
  Json items = Json::array();
  for (const DataType type : all_data_types()) {
    Json entry = item(name(type), fmt::format("{} bytes", size_of(type)));
    entry["bytes"] = size_of(type);
    items.push_back(std::move(entry));
  }
  return items;
}

Json list_ops() {
  Json items = Json::array();
  for (const ReduceOp op : all_reduce_ops()) items.push_back(item(name(op), ""));
  return items;
}

Json list_nothing() { return Json::array(); }

struct Subject {
  std::string_view name;
  Json (*list)();
};
constexpr Subject subjects[] = {{"tests", list_tests},           {"collectives", list_collectives},
                                {"algorithms", list_algorithms}, {"transports", list_transports},
                                {"devices", list_devices},       {"models", list_nothing},
                                {"strategies", list_nothing},    {"formats", list_formats},
                                {"dtypes", list_dtypes},         {"ops", list_ops}};

void print_items(const Json& items) {
  for (const Json& entry : items) {
    std::string text = entry["summary"].get<std::string>();
    if (entry.value("available", true) == false && entry.contains("reason")) {
      text += fmt::format(" (not available: {})", entry["reason"].get<std::string>());
    }
    if (text.empty()) {
      fmt::print("{}\n", entry["name"].get<std::string>());
    } else {
      fmt::print("{:<36} {}\n", entry["name"].get<std::string>(), text);
    }
  }
}

int run_list(const ListArguments& arguments) {
  std::string names;
  for (const Subject& subject : subjects) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", subject.name);
    if (subject.name != arguments.what) continue;
    const Json items = subject.list();
    if (arguments.json) {
      fmt::print("{}\n", items.dump(2));
    } else {
      print_items(items);
      if (items.empty()) fmt::print(stderr, "commtune: no {} in this build\n", arguments.what);
    }
    return exit_ok;
  }
  fail(Errc::usage, "WHAT '{}': nothing of that name to list; valid: {}", arguments.what, names);
}

std::function<int()> add_list(CLI::App& app, const std::vector<std::string>&) {
  auto arguments = std::make_shared<ListArguments>();
  add_algorithm_options(app);
  app.add_option("WHAT", arguments->what,
                 "tests, collectives, algorithms, transports, devices, models, strategies, "
                 "formats, dtypes or ops")
      ->required()
      ->type_name("WHAT");
  app.add_flag("--json", arguments->json, "an array of objects");
  return [arguments] { return run_list(*arguments); };
}

}  // namespace

extern const Command command_list{"list", "what there is", add_list};

}  // namespace commtune
