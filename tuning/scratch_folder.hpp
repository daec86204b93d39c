#pragma once
#include <filesystem>

namespace commtune {

/// A new folder among the temporary files that disappears, with its contents, with its owner.
class ScratchFolder {
 public:
  /// Throws Error(system) when it cannot be created.
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace commtune
