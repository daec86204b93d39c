// Rules files of Open MPI, as lint reads them.
#include "fuzz.hpp"
#include "tuning/openmpi/lint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commtune::openmpi;
  const std::string_view text = commtune::fuzz::text_of(data, size);
  for (const Family family : {Family::v4_1, Family::v5_0}) {
    const RulesFile file = parse_rules(text, family);
    for (int collective = 0; collective < 4; ++collective) {
      const MessageRule* rule = select(file, collective, 4, 1024);
      commtune::fuzz::expect(rule == nullptr || rule->algorithm != 0, "0 is the built-in decision");
    }
    std::size_t told = 0;
    for (const Finding& finding : lint(text, family)) told += finding.text.size();
    commtune::fuzz::expect(told <= 256 * (size + 1), "findings do not outgrow their file");
  }
  return 0;
}
