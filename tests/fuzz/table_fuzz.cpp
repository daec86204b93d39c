// Decision tables (commtune.table/1), and the rules files made of them.
#include "fuzz.hpp"
#include "tuning/openmpi/emit.hpp"
#include "tuning/openmpi/rules.hpp"
#include "tuning/table.hpp"

namespace {

using namespace commtune;

void emit(const DecisionTable& table, openmpi::Family family, openmpi::Profile profile) {
  std::string text;
  if (!fuzz::accepts([&] { text = openmpi::emit_rules(table, family, profile).text; })) return;
  fuzz::expect(openmpi::parse_rules(text, family).accepted, "Open MPI keeps a rules file of ours");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::accepts([&] {
    const DecisionTable table = table_from_json(parse_json(fuzz::text_of(data, size), "f"), "f");
    const Json json = to_json(table);
    fuzz::expect(to_json(table_from_json(json, "f")) == json,
                 "a table that is written reads the same");
    show(table);
    for (const auto family : {openmpi::Family::v4_1, openmpi::Family::v5_0}) {
      emit(table, family, openmpi::Profile::safe);
      emit(table, family, openmpi::Profile::commutative);
    }
  });
  return 0;
}
