#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include "tuning/openmpi/rules.hpp"

namespace commtune::openmpi {

/// Everything wrong or dangerous in a classic rules file, in line order: what makes the loader drop
/// it, what makes a call fail or give wrong data, what never takes effect.
std::vector<Finding> lint(std::string_view text, Family family);

/// As above; a file that cannot be read is a finding, because Open MPI says nothing about it.
std::vector<Finding> lint_file(const std::filesystem::path& path, Family family);

}  // namespace commtune::openmpi
