#include "tuning/openmpi/emit.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/sizes.hpp"

namespace commtune::openmpi {
namespace {

struct Line {
  std::uint64_t key;
  int algorithm = 0;
  std::uint64_t fanout = 0, segsize = 0;
  std::string comment;
  bool same_choice(const Line& other) const {
    return algorithm == other.algorithm && fanout == other.fanout && segsize == other.segsize;
  }
};

std::uint64_t param(const TableRule& rule, const char* key) {
  const auto found = rule.params.find(key);
  return found == rule.params.end() ? 0 : found->get<std::uint64_t>();
}

bool single_rule(SizeKey key) {
  switch (key) {
    case SizeKey::vector_bytes:
    case SizeKey::total_bytes:
    case SizeKey::average_bytes:
      return false;
    case SizeKey::constant:
    case SizeKey::ignores_count:
    case SizeKey::local_arguments:
      return true;
  }
  return true;
}

class Emitter {
 public:
  Emitter(const DecisionTable& table, Family family, Profile profile)
      : table_(table), family_(family), profile_(profile) {}

  Emitted run() && {
    collect();
    header();
    out_.text += fmt::format("{:<24}# collectives\n", entries_.size());
    for (const auto& [id, by_ranks] : entries_) emit_collective(id, by_ranks);
    return std::move(out_);
  }

 private:
  using ByRanks = std::map<int, const TableEntry*>;

  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    out_.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void collect() {
    for (const TableEntry& entry : table_.entries) {
      if (entry.library != "openmpi") {
        warn("{} on {} ranks was measured with {}: left out", name(entry.collective), entry.ranks,
             entry.library);
        continue;
      }
      if (tuned(entry.collective).id < 0) {
        warn("{} is no collective of MPI: left out", name(entry.collective));
        continue;
      }
      const auto [at, fresh] = entries_[tuned(entry.collective).id].emplace(entry.ranks, &entry);
      if (!fresh) {
        warn(
            "{} on {} ranks ({} nodes of {}, {}): left out, rules can tell jobs apart by their "
            "number of ranks only and {} nodes of {}, {} came first",
            name(entry.collective), entry.ranks, entry.nodes, entry.ppn, entry.dtype_class,
            at->second->nodes, at->second->ppn, at->second->dtype_class);
      }
    }
    require(!entries_.empty(), "the table has no entry for Open MPI; tune with --transport mpi");
  }

  /// A string inside `run`, wherever a run describes itself so.
  std::string from_run(const char* pointer) const {
    const auto at = Json::json_pointer(pointer);
    const bool there = table_.run.contains(at) && table_.run[at].is_string();
    return there ? table_.run[at].get<std::string>() : "unknown";
  }

  static std::string one_line(std::string text) {
    for (char& c : text) {
      if (c == '\n' || c == '\r') c = ' ';
    }
    return text;
  }

  void comment(const std::string& text) { out_.text += "# " + one_line(text) + "\n"; }

  void header() {
    comment(fmt::format("Rules of coll/tuned for {}, written by commtune.", name(family_)));
    comment(
        "Use: --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename FILE");
    switch (profile_) {
      case Profile::safe:
        comment("Profile safe: every algorithm keeps the order of the operands.");
        break;
      case Profile::commutative:
        comment("Profile commutative: WRONG RESULTS with operators that do not commute.");
        break;
    }
    if (family_ == Family::v5_0) {
      comment("Between nodes coll/han comes first in 5.x: add --mca coll_han_priority 0.");
    }
    comment(fmt::format("Measured from {} to {} bytes per rank, {}; outside the library decides.",
                        table_.measured_low, table_.measured_high, from_run("/started")));
    comment(fmt::format("Measured with {} {} on {}.", from_run("/library/name"),
                        from_run("/library/version"), from_run("/hosts/0")));
    for (const std::string& warning : table_.warnings) comment("Warning: " + warning);
  }

  Line convert(const TunedCollective& collective, const TableEntry& entry, const TableRule& rule) {
    Line line{key_of(collective.key, rule.from_bytes, entry.ranks), 0, 0, 0, "default"};
    if (rule.algorithm == default_algorithm) return line;
    const TunedAlgorithm* algorithm = find_algorithm(collective, rule.algorithm, family_);
    if (algorithm == nullptr) {
      std::string known;
      for (const TunedAlgorithm& each : collective.algorithms) {
        if (each.since <= family_) known += fmt::format(", {}", each.name);
      }
      fail(Errc::usage, "{} has no {} algorithm \"{}\"; it has default{}", name(family_),
           collective.name, rule.algorithm, known);
    }
    const std::string what = fmt::format("{} on {} ranks from {} bytes: {}", name(entry.collective),
                                         entry.ranks, rule.from_bytes, rule.algorithm);
    const std::string reason = restriction(collective, *algorithm, entry.ranks);
    if (!reason.empty()) {
      warn("{} {}, default instead", what, reason);
      line.comment = fmt::format("default ({} {})", rule.algorithm, reason);
    } else if (profile_ == Profile::safe && !algorithm->ordered) {
      warn(
          "{} is wrong for operators that do not commute, default instead (--profile commutative "
          "keeps it)",
          what);
      line.comment = fmt::format("default (profile safe excludes {})", rule.algorithm);
    } else {
      line.algorithm = algorithm->id;
      line.fanout = param(rule, "fanout");
      line.segsize = param(rule, "segsize");
      line.comment = fmt::format("{}", rule.algorithm);
    }
    if (rule.median_us && rule.default_us) {
      line.comment +=
          fmt::format(", {:.2f} us, default {:.2f} us", *rule.median_us, *rule.default_us);
    }
    return line;
  }

  std::vector<Line> convert(const TunedCollective& collective, const TableEntry& entry) {
    std::vector<Line> lines;
    for (const TableRule& rule : entry.rules) {
      Line line = convert(collective, entry, rule);
      if (lines.empty() || !lines.back().same_choice(line)) lines.push_back(std::move(line));
    }
    if (single_rule(collective.key) && lines.size() > 1) {
      warn("{} on {} ranks: the library cannot tell sizes apart here, only the first rule is kept",
           name(entry.collective), entry.ranks);
      lines.resize(1);
    }
    return lines;
  }

  void emit_block(int ranks, const std::vector<Line>& lines, std::string_view text) {
    out_.text += fmt::format("{:<24}# from {} ranks on: {}\n{:<24}# rules\n", ranks, ranks, text,
                             lines.size());
    for (const Line& line : lines) {
      const std::string numbers =
          fmt::format("{} {} {} {}", line.key, line.algorithm, line.fanout, line.segsize);
      out_.text += fmt::format("{:<24}# {}\n", numbers, one_line(line.comment));
    }
  }

  void emit_collective(int id, const ByRanks& by_ranks) {
    const TunedCollective& collective = *find_collective(id);
    std::size_t blocks = 1;
    for (const auto& [ranks, entry] : by_ranks) {
      blocks += by_ranks.count(ranks + 1) != 0 ? 1U : 2U;
    }
    out_.text +=
        fmt::format("{:<24}# {}\n{:<24}# communicator sizes\n", id, collective.name, blocks);
    const std::vector<Line> keep{{0, 0, 0, 0, "default"}};
    emit_block(0, keep, "not measured");
    for (const auto& [ranks, entry] : by_ranks) {
      emit_block(ranks, convert(collective, *entry), fmt::format("measured on {}", ranks));
      if (by_ranks.count(ranks + 1) == 0) emit_block(ranks + 1, keep, "not measured");
    }
  }

  const DecisionTable& table_;
  Family family_;
  Profile profile_;
  std::map<int, ByRanks> entries_;
  Emitted out_;
};

}  // namespace

std::string_view name(Profile profile) noexcept {
  switch (profile) {
    case Profile::safe:
      return "safe";
    case Profile::commutative:
      return "commutative";
  }
  return "";
}

Profile parse_profile(std::string_view text, std::string_view option) {
  for (const Profile profile : {Profile::safe, Profile::commutative}) {
    if (text == name(profile)) return profile;
  }
  fail(Errc::usage, "{}: unknown profile \"{}\"; there are safe, commutative", option, text);
}

Emitted emit_rules(const DecisionTable& table, Family family, Profile profile) {
  return Emitter(table, family, profile).run();
}

}  // namespace commtune::openmpi
