#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "dnn_proxy/byte_source.hpp"
#include "dnn_proxy/importers/importer.hpp"

namespace commtune {

extern const Importer captured_ddp_importer;
extern const Importer kineto_importer;

namespace {

constexpr std::size_t head_bytes = 64 * 1024;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

std::span<const Importer* const> importers() noexcept {
  static constexpr std::array list = {&captured_ddp_importer, &kineto_importer};
  return list;
}

std::vector<std::filesystem::path> trace_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string file = entry.path().filename().string();
    if (entry.is_regular_file() && (ends_with(file, ".json") || ends_with(file, ".json.gz")))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Import import_trace(const std::filesystem::path& path) {
  require(std::filesystem::exists(path), "{}: no such file or directory", path.string());
  TraceProbe probe;
  probe.path = path;
  probe.directory = std::filesystem::is_directory(path);
  if (probe.directory) {
    const auto files = trace_files(path);
    require(!files.empty(), "{}: holds no .json or .json.gz file", path.string());
    probe.head = read_head(files.front(), head_bytes);
  } else {
    probe.head = read_head(path, head_bytes);
  }
  std::string known;
  for (const Importer* importer : importers()) {
    if (importer->sniff(probe)) return importer->import(path);
    known += fmt::format("\n  {}: {}", importer->name, importer->summary);
  }
  fail(Errc::usage, "{}: not in a format that this program knows; formats:{}", path.string(),
       known);
}

}  // namespace commtune
