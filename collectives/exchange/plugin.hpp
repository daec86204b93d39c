#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/algorithm.hpp"

namespace commtune {

/// What a shared object with algorithms exports through
///   extern "C" const commtune::AlgorithmPlugin* commtune_algorithm_plugin();
/// It is compiled against the headers of this project and finds the code behind them in the program
/// that loads it. The defaults of all members but `algorithms` describe those headers.
struct AlgorithmPlugin {
  /// Changes whenever a type that a plug-in shares with the program does.
  static constexpr std::uint32_t current_abi = 1;
  std::uint32_t abi = current_abi;
  std::uint32_t algorithm_bytes = sizeof(Algorithm), schedule_bytes = sizeof(Schedule),
                builder_bytes = sizeof(ScheduleBuilder), params_bytes = sizeof(Params);
  /// Static objects of the shared object.
  std::span<const Algorithm* const> algorithms = {};
};

/// Loads a shared object and adds its algorithms, as add_algorithm() does; it stays loaded. `what`
/// starts every error: Error(unavailable) where it cannot be loaded, Error(usage) where it is no
/// plug-in, was built for another ABI, or has an algorithm whose name is taken. Returns what was
/// added.
std::vector<const Algorithm*> load_plugin(const std::filesystem::path& file,
                                          const std::string& what);

}  // namespace commtune
