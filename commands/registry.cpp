#include <array>

#include "commands/command.hpp"

#define COMMTUNE_COMMANDS(X) \
  X(bench)                   \
  X(compare)                 \
  X(export)                  \
  X(import)                  \
  X(info)                    \
  X(list)                    \
  X(replay)                  \
  X(table)                   \
  X(tune)                    \
  X(verify)

namespace commtune {

#define COMMTUNE_DECLARE(name) extern const Command command_##name;
COMMTUNE_COMMANDS(COMMTUNE_DECLARE)
#undef COMMTUNE_DECLARE

std::span<const Command* const> commands() noexcept {
#define COMMTUNE_ADDRESS(name) &command_##name,
  static constexpr std::array list{COMMTUNE_COMMANDS(COMMTUNE_ADDRESS)};
#undef COMMTUNE_ADDRESS
  return list;
}

}  // namespace commtune
