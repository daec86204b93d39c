#include "tuning/scratch_folder.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace commtune {

ScratchFolder::ScratchFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "commtune-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    fail(Errc::system, "cannot create a temporary folder like {}", pattern);
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace commtune
